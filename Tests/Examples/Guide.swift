import Foundation
import Testing

/// The numbered pages in the documentation of `CoreData`: on concurrency, and the rules for other matters.
enum Guide {
  static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  private static let folders = ["Concurrency", "Guides"]

  static let pages: [GuidePage] = {
    let catalogue = package.appendingPathComponent("Sources/CoreData/CoreData.docc")
    let files = folders.flatMap { folder in
      (try? FileManager.default.contentsOfDirectory(
        at: catalogue.appendingPathComponent(folder), includingPropertiesForKeys: nil)) ?? []
    }
    return files.compactMap(GuidePage.init).sorted { $0.number < $1.number }
  }()
}

/// A page `NN-Name.md`, and the code that it shows.
struct GuidePage: Sendable, CustomTestStringConvertible {
  let name: String
  let number: Int
  /// The blocks of Swift on the page, as lines.
  let code: [[String]]

  init?(_ file: URL) {
    name = file.deletingPathExtension().lastPathComponent
    guard file.pathExtension == "md", let number = Int(name.prefix(2)),
      let text = try? String(contentsOf: file, encoding: .utf8)
    else { return nil }
    self.number = number
    var blocks: [[String]] = []
    var block: [String]?
    for line in text.split(separator: "\n").map(String.init) {
      if line.hasPrefix("```") {
        if let block { blocks.append(block) }
        block = line == "```swift" ? [] : nil
      } else {
        block?.append(line)
      }
    }
    code = blocks
  }

  var testDescription: String { name }

  /// Page 12 shows code that the compiler refuses. It cannot run; its snippets are those of a test.
  var hasExample: Bool { number != 12 }

  /// The text of the source file from which the page's code comes.
  func source() throws -> String {
    let examples = Guide.package.appendingPathComponent("Sources/Examples")
    guard hasExample else {
      let tests = Guide.package.appendingPathComponent("Tests/CoreData/Context/Concurrency/CompilerRefusalTests.swift")
      return try String(contentsOf: tests, encoding: .utf8)
    }
    let files = try FileManager.default.contentsOfDirectory(at: examples, includingPropertiesForKeys: nil)
    let prefix = name.prefix(3)
    return try files.filter { $0.lastPathComponent.hasPrefix(prefix) }
      .map { try String(contentsOf: $0, encoding: .utf8) }.joined(separator: "\n")
  }
}
