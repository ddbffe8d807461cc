import Foundation
import TestFiles
import Testing

/// Each example of the guides runs in a process of its own, which ends with an error if something differs from its
/// page.
@Suite struct ExamplesTests {
  @Test(arguments: Guide.pages.filter(\.hasExample).map(\.number))
  func anExampleShowsWhatItsPagePromises(_ number: Int) throws {
    let ended = try run("Examples", [String(number)])
    #expect(ended.code == 0, "\(ended.output)\(ended.errors)")
    #expect(ended.output.hasPrefix("\(number). "))
  }

  @Test func readingOnAWrongQueueEndsTheProgramWithASentence() throws {
    let ended = try run("Examples", ["11", "-wrong-queue", "-com.apple.CoreData.ConcurrencyDebug", "1"])
    #expect(ended.code != 0)
    #expect(ended.errors.contains("belongs to the private queue of the context \"import\""), "\(ended.errors)")
  }

  @Test func statementsArePrintedOnRequest() throws {
    let ended = try run("Examples", ["11", "-com.apple.CoreData.SQLDebug", "1"])
    #expect(ended.code == 0)
    #expect(ended.errors.contains("CoreData: sql: INSERT INTO ZPERSON"), "\(ended.errors)")
  }

  @Test(arguments: Guide.pages)
  func theCodeOnAPageIsThatOfItsExample(_ page: GuidePage) throws {
    let source = try page.source().split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    for block in page.code {
      let lines = block.map { $0.trimmingCharacters(in: .whitespaces) }
      let isThere = source.indices.contains { start in
        source.count - start >= lines.count && Array(source[start..<start + lines.count]) == lines
      }
      #expect(isThere, "\(page.name): \(block.joined(separator: "\n"))")
      let text = block.joined()
      for (opening, closing) in [("{", "}"), ("(", ")"), ("[", "]")] as [(Character, Character)] {
        let isWhole = text.count(where: { $0 == opening }) == text.count(where: { $0 == closing })
        #expect(isWhole, "\(page.name): the code is cut: \(block.joined(separator: "\n"))")
      }
    }
    #expect(!page.code.isEmpty)
  }

  @Test func theGuidesHaveAPageForEachExample() {
    #expect(Guide.pages.map(\.number) == Array(1...23))
  }

  @Test func contextsOfAllKindsAtOnceLoseNothingAndAgreeWithTheFile() throws {
    let ended = try run("context-stress", ["--seconds", "3"])
    #expect(ended.code == 0, "\(ended.output)\(ended.errors)")
  }

  /// Runs a program of the package to its end.
  private func run(_ program: String, _ arguments: [String]) throws -> (code: Int32, output: String, errors: String) {
    let folder = temporaryURL("run")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let files = try ["output", "errors"].map { name in
      let file = folder.appendingPathComponent(name)
      try Data().write(to: file)
      return (file, try FileHandle(forWritingTo: file))
    }
    let process = Process()
    process.executableURL = try #require(Bundle.main.executableURL).deletingLastPathComponent()
      .appendingPathComponent(program)
    process.arguments = arguments
    // A program that traps removes none of its files.
    let variables = ["SWIFT_BACKTRACE": "enable=no", "TMPDIR": folder.path]
    process.environment = ProcessInfo.processInfo.environment.merging(variables) { $1 }
    (process.standardOutput, process.standardError) = (files[0].1, files[1].1)
    try process.run()
    process.waitUntilExit()
    let texts = try files.map { String(decoding: try Data(contentsOf: $0.0), as: UTF8.self) }
    return (process.terminationStatus, texts[0], texts[1])
  }
}
