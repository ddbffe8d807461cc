import Foundation
import Testing

/// A page of the documentation, and the code that it shows.
struct DocumentationPage: Sendable, CustomTestStringConvertible {
  /// The path in the package.
  let path: String
  let blocks: [Block]
  /// Lines that Markdown shows as code although no fence says in which language.
  let indentedCode: [Int]

  /// Code between two fences.
  struct Block: Sendable {
    /// The word behind the fence; empty for none.
    var language: String
    var text: String
    /// The number of the fence's line.
    var line: Int
    /// What the comments directly before the block ask for, such as `file: Sources/App/main.swift`.
    var notes: [Note]

    /// The file whose content the block is.
    var file: String? { notes.lazy.compactMap { if case .file(let path) = $0 { path } else { nil } }.first }
    /// Whether the block goes on with the program of the Swift block before it.
    var continues: Bool { notes.contains { if case .continues = $0 { true } else { false } } }
    /// What the block's command prints when the page may go on; it runs meanwhile.
    var runsUntil: String? { notes.lazy.compactMap { if case .runsUntil(let text) = $0 { text } else { nil } }.first }
    /// The exit code of the block's commands, if it is not 0.
    var exits: Int? { notes.lazy.compactMap { if case .exits(let code) = $0 { code } else { nil } }.first }
    /// Why the block is not run.
    var reasonNotToRun: String? {
      notes.lazy.compactMap { if case .notRun(let reason) = $0 { reason } else { nil } }.first
    }
  }

  /// A comment before a block, which readers of the page do not see: `<!-- WORD: TEXT -->`.
  enum Note: Sendable, Equatable {
    /// The block is the content of this file in the page's directory.
    case file(String)
    /// The command goes on running; the page continues when it has printed this text.
    case runsUntil(String)
    /// The commands end with this exit code.
    case exits(Int)
    /// The block is a part of the program of the Swift block before it.
    case continues
    /// Why the block is not run.
    case notRun(String)
    /// A comment that this test does not know.
    case unknown(String)

    init(_ comment: String) {
      let halves = comment.split(separator: ":", maxSplits: 1).map {
        $0.trimmingCharacters(in: .whitespacesAndNewlines)
      }
      guard halves.count == 2, !halves[1].isEmpty else {
        self = .unknown(comment)
        return
      }
      switch halves[0] {
      case "file": self = .file(halves[1])
      case "runs until": self = .runsUntil(halves[1])
      case "exits": self = Int(halves[1]).map(Note.exits) ?? .unknown(comment)
      case "continues": self = .continues
      case "not run": self = .notRun(halves[1])
      case ".ci/check-directions --draw": self = .notRun("a drawing that .ci/check-directions compares with the code")
      default: self = .unknown(comment)
      }
    }
  }

  static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// README, and each page of each catalogue but the numbered ones, whose code is that of the target Examples.
  static let all: [DocumentationPage] = {
    var paths = ["README.md", "Protocol/PROTOCOL.md"]
    for folder in ["Sources", "Protocol"] {
      let files = FileManager.default.enumerator(atPath: package.appendingPathComponent(folder).path)
      for case let file as String in files ?? .init()
      where file.hasSuffix(".md") && file.contains(".docc/")
        && !["/Concurrency/", "/Guides/"].contains(where: file.contains)
      {
        paths.append(folder + "/" + file)
      }
    }
    return paths.sorted().map(DocumentationPage.init)
  }()

  init(path: String) {
    let text = (try? String(contentsOf: Self.package.appendingPathComponent(path), encoding: .utf8)) ?? ""
    self.init(path: path, text: text)
  }

  init(path: String, text: String) {
    self.path = path
    var blocks: [Block] = []
    var indented: [Int] = []
    var block: (head: Block, lines: [String])?
    var comment: [String]?
    var notes: [Note] = []
    var isInList = false
    var before = ""
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init).enumerated() {
      if let open = block {
        if line == "```" {
          block = nil
          var done = open.head
          done.text = open.lines.map { $0 + "\n" }.joined()
          blocks.append(done)
        } else {
          block?.lines.append(line)
        }
      } else if comment != nil || line.hasPrefix("<!--") {
        comment = (comment ?? []) + [line]
        if line.hasSuffix("-->") {
          notes.append(Note(String((comment ?? []).joined(separator: "\n").dropFirst(4).dropLast(3))))
          comment = nil
        }
      } else if line.hasPrefix("```") {
        let language = String(line.dropFirst(3))
        block = (Block(language: language, text: "", line: index + 1, notes: notes), [])
        notes = []
      } else if !line.isEmpty {
        notes = []
        if line.hasPrefix("- ") || line.first?.isNumber == true { isInList = true }
        if !line.hasPrefix(" "), before.isEmpty, !line.hasPrefix("- "), line.first?.isNumber != true {
          isInList = false
        }
        if line.hasPrefix("    "), before.isEmpty, !isInList { indented.append(index + 1) }
      }
      before = line
    }
    self.blocks = blocks
    indentedCode = indented
  }

  var testDescription: String { path }
}
