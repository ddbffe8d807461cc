import Foundation
import TestFiles

/// A directory whose file system stops to answer when a test tells it to, as a server's that is gone: FUSE, served by
/// `Tests/Support/HangingFiles`. Mounting it needs root.
final class HangingFiles {
  let path: String
  /// Kept, since its files can only be removed when the directory is unmounted.
  private let place: TestPlace
  private let server = Process()
  private let input = Pipe()
  private let answers: LineReader
  private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../Support/HangingFiles/hanging_files.py").standardizedFileURL.path

  static let isPossible: Bool = {
    guard geteuid() == 0, access("/dev/fuse", R_OK | W_OK) == 0, let place = try? TestPlace() else { return false }
    return (try? HangingFiles(place, [:])) != nil
  }()

  private struct NotMounted: Error {}

  /// Mounts the directory `hanging` of a place.
  ///
  /// - Parameter scripts: the texts of its files, by name.
  init(_ place: TestPlace, _ scripts: [String: String]) throws {
    self.place = place
    path = place.path("hanging")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    server.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    let files = try scripts.map { "\($0.key)=\(try place.write($0.value, to: "sources/\($0.key)"))" }
    server.arguments = ["python3", Self.script, path] + files
    let output = Pipe()
    server.standardInput = input
    server.standardOutput = output
    try server.run()
    try output.fileHandleForWriting.close()
    answers = LineReader(output.fileHandleForReading)
    guard answers.next() == "ready" else { throw NotMounted() }
  }

  /// From now on nobody who looks at the directory or its files gets an answer.
  func hang() { tell("hang") }

  func goOn() { tell("go on") }

  private func tell(_ command: String) {
    input.fileHandleForWriting.write(Data("\(command)\n".utf8))
    _ = answers.next()
  }

  /// Unmounts it. Who still waits for an answer gets an error.
  deinit {
    try? input.fileHandleForWriting.close()
    server.waitUntilExit()
  }
}
