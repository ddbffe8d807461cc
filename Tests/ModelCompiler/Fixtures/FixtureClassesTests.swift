import Foundation
import Testing

/// Compiles every model of the fixtures to classes, in debug and release, and uses them. It takes some minutes, so it
/// runs on request only:
///
///     WORKERPOOL_FIXTURE_CLASSES=/tmp/classes swift test --filter FixtureClassesTests
///
/// The variable names the folder for the package. The folder stays, so that a second run is fast.
@Suite(.enabled(if: packageFolder != nil, "set WORKERPOOL_FIXTURE_CLASSES"), .serialized)
struct FixtureClassesTests {
  private static let repository = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  private static var models: URL? {
    let named = ProcessInfo.processInfo.environment["WORKERPOOL_FIXTURES"].map { URL(fileURLWithPath: $0) }
    let root = named ?? repository.appendingPathComponent("../shared/fixtures").standardizedFileURL
    let models = root.appendingPathComponent("models")
    return FileManager.default.fileExists(atPath: models.path) ? models : nil
  }

  @Test(arguments: ["debug", "release"])
  func everyModelCompilesToClassesThatWork(configuration: String) throws {
    let folder = try #require(packageFolder)
    let models = try #require(Self.models, "no fixtures: set WORKERPOOL_FIXTURES")
    try? FileManager.default.removeItem(at: folder.appendingPathComponent("Sources"))
    let package = try FixturePackage(models: models, workerpool: Self.repository, in: folder)
    try package.write()

    let begun = ContinuousClock.now
    let build = try run("swift", ["build", "--package-path", folder.path, "-c", configuration])
    print("\(configuration): built in \(ContinuousClock.now - begun)")
    try #require(build.code == 0, "\(build.output)")
    #expect(!build.output.contains("warning:"), "\(build.output)")

    let check = try run(folder.appendingPathComponent(".build/\(configuration)/Check").path, [])
    #expect(check.code == 0)
    #expect(
      check.output.contains(
        "\(package.modelCount) models, \(package.concreteEntityCount) concrete entities made, saved and fetched"),
      "\(check.output)")
    print("\(configuration): \(check.output)")
  }

  /// Runs a program to its end; its errors are part of the output.
  private func run(_ program: String, _ arguments: [String]) throws -> (code: Int32, output: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [program] + arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: data, as: UTF8.self))
  }
}

private let packageFolder = ProcessInfo.processInfo.environment["WORKERPOOL_FIXTURE_CLASSES"]
  .map { URL(fileURLWithPath: $0) }
