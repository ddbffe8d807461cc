/// The classes that CoreData and Foundation both declare on Linux.
///
/// A file that imports both, or XCTest, which exports Foundation, cannot name them as types: the compiler does not know
/// which one is meant. A declaration of the module itself takes precedence, so each module that names them gets an
/// alias.
enum AmbiguousNames {
  private static let names = ["NSComparisonPredicate", "NSExpression"]

  /// The aliases for the names that the module uses; empty if there are none.
  static func aliases(for files: [(path: String, contents: String)]) -> String {
    let mentioning = files.filter { file in names.contains { file.contents.contains($0) } }
    if mentioning.isEmpty || !files.contains(where: { imports(CoreData: $0.contents) }) { return "" }
    let scans = mentioning.map { Lexer.tokens(of: $0.contents) }
    return names.filter { name in scans.contains { uses(name, $0) } && !scans.contains { declares(name, $0) } }
      .map { "/// CoreData's class, not Foundation's of the same name.\npublic typealias \($0) = CoreData.\($0)\n" }
      .joined(separator: "\n")
  }

  private static func imports(CoreData source: String) -> Bool { source.contains("import CoreData") }

  /// Whether the name occurs by itself, and not as a member such as `CoreData.NSExpression`.
  private static func uses(_ name: String, _ tokens: [Token]) -> Bool {
    tokens.indices.contains { index in
      tokens[index].isWord(name) && !(index > 0 && tokens[index - 1].isMark("."))
    }
  }

  /// Whether the module declares the name itself.
  private static func declares(_ name: String, _ tokens: [Token]) -> Bool {
    let declarations = ["class", "struct", "enum", "typealias", "protocol", "actor"]
    return tokens.indices.dropFirst().contains { index in
      tokens[index].isWord(name) && declarations.contains { tokens[index - 1].isWord($0) }
    }
  }
}
