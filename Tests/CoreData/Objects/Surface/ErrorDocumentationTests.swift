import Foundation
import Testing

/// The documentation of each error's code, beside the sources that raise it.
@Suite struct ErrorDocumentationTests {
  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../../..").standardizedFileURL

  private struct Code {
    let name: String
    let constant: String
    let documentation: String
  }

  /// The codes, as the first extension of `CocoaError+CoreData.swift` declares them.
  private static func codes() throws -> [Code] {
    let text = try String(
      contentsOf: root.appendingPathComponent("\(errors)/CocoaError+CoreData.swift"), encoding: .utf8)
    let declaration = /((?:  \/\/\/.*\n)+)  public static let (\w+) = CocoaError\.Code\(\s*rawValue: (\w+)\)/
    return text.matches(of: declaration).map { match in
      let lines = match.output.1.split(separator: "\n").map { $0.dropFirst("  /// ".count) }
      return Code(
        name: String(match.output.2), constant: String(match.output.3), documentation: lines.joined(separator: " "))
    }
  }

  private static let errors = "Sources/CoreData/Errors"

  /// A source file, split at its comments.
  private struct Source {
    let code: String
    let documentation: String
    /// What the code names: most codes are not in most files, and a regular expression takes its time.
    let words: Set<String>
    private static let wordEnds = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "_")).inverted

    init(_ text: String) {
      var code = ""
      var documentation = ""
      for line in text.components(separatedBy: "\n") {
        let comment = line.range(of: "//")
        code += line[..<(comment?.lowerBound ?? line.endIndex)] + "\n"
        if let comment, line[comment.upperBound...].hasPrefix("/ ") {
          documentation += line[comment.upperBound...].dropFirst(2) + " "
        }
      }
      self.code = code
      self.documentation = documentation
      words = Set(code.components(separatedBy: Self.wordEnds))
    }
  }

  /// The sources of both modules by path, without the files that list all codes.
  private static func sources() throws -> [String: Source] {
    var sources: [String: Source] = [:]
    for module in ["CoreData", "CoreDataPostgreSQL"] {
      let folder = root.appendingPathComponent("Sources/\(module)")
      let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
      for path in paths {
        let name = URL(fileURLWithPath: path).lastPathComponent
        let lists = [
          "CocoaError+CoreData.swift", "CoreDataError.swift", "CoreDataErrors+Explanation.swift", "ErrorNumbers.swift",
        ]
        if lists.contains(name) { continue }
        sources["\(module)/\(path)"] = try Source(
          String(contentsOf: folder.appendingPathComponent(path), encoding: .utf8))
      }
    }
    return sources
  }

  /// The files that name the code outside of comparisons.
  private static func files(raising code: Code, in sources: [String: Source]) throws -> [String] {
    // No \b behind it: by Unicode's rules no word ends before the dot of `.name.rawValue`.
    let use = try Regex("([^\\w) ]|[^=] |[^=!]= |Code)\\.\(code.name)(?!\\w)")
    return sources.filter { _, source in
      source.words.contains(code.constant) || source.words.contains(code.name) && source.code.contains(use)
    }.map(\.key).sorted()
  }

  @Test func theDocumentationSaysOfEachCodeWhetherItIsRaised() throws {
    let sources = try Self.sources()
    let codes = try Self.codes()
    #expect(codes.count > 45 && sources.count > 300)
    #expect(sources.values.contains { $0.words.count > 100 && $0.documentation.count > 1000 })
    for code in codes {
      let files = try Self.files(raising: code, in: sources)
      let isDenied = code.documentation.contains("Only Apple's framework raises it")
      #expect(isDenied == files.isEmpty, "\(code.name), which \(files) raise, is documented as: \(code.documentation)")
      #expect(isDenied || code.documentation.contains("raise"), "\(code.name): who raises it? \(code.documentation)")
    }
  }

  /// `- Throws: 134140 without a mapping model` and the like.
  @Test func codesThatDocumentationNamesAreRaised() throws {
    let numbers = try String(
      contentsOf: Self.root.appendingPathComponent("\(Self.errors)/ErrorNumbers.swift"), encoding: .utf8
    )
    .matches(of: /public let (\w+) = (\d+)/).map { (String($0.output.1), String($0.output.2)) }
    let numberOf = Dictionary(uniqueKeysWithValues: numbers)
    let sources = try Self.sources()
    let raised = try Self.codes().filter { try !Self.files(raising: $0, in: sources).isEmpty }.map {
      numberOf[$0.constant]
    }
    for (file, source) in sources {
      for named in source.documentation.matches(of: /\b(?:1[56]\d0|13[234]\d{3})\b/).map({ String($0.output) }) {
        #expect(raised.contains(named), "\(file) documents the code \(named), which nothing raises")
      }
    }
  }
}
