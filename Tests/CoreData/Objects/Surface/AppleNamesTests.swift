import Foundation
import Testing

/// The public surface, compared with a list of Apple's names. `AppleNames.txt` says where the list is from.
@Suite("Apple's public names") struct AppleNamesTests {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
  private static let sources = folder.appendingPathComponent("../../../../Sources/CoreData").standardizedFileURL

  /// The names of the list: those that exist here, those that do not, and those that are deprecated here and there.
  private static func list() throws -> (present: [String], absent: [String], deprecated: [String]) {
    let text = try String(contentsOf: folder.appendingPathComponent("AppleNames.txt"), encoding: .utf8)
    let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
    let absent = lines.filter { $0.hasPrefix("- ") }.map { $0.dropFirst(2).split(separator: " ")[0] }
    let present = lines.filter { !$0.hasPrefix("- ") }.map { $0.components(separatedBy: "  ") }
    return (
      present.map { $0[0] }, absent.map(String.init), present.filter { $0.last == "deprecated" }.map { $0[0] }
    )
  }

  @Test("Each is declared here, but for those that the list names with a reason")
  func names() throws {
    let (present, absent, _) = try Self.list()
    #expect(present.count > 600)
    let declared = try DeclaredNames(in: Self.sources)
    #expect(present.filter { !declared.contains($0) } == [], "Apple's framework has these, and CoreData does not")
    #expect(absent.filter { declared.contains($0) } == [], "the list says that these do not exist here")
  }

  @Test("Those that warn here warn on Apple's platforms, too")
  func availability() throws {
    let (present, _, deprecated) = try Self.list()
    let declared = try DeclaredNames(in: Self.sources)
    #expect(Set(present).intersection(declared.deprecated) == Set(deprecated))
    #expect(!deprecated.isEmpty)
  }
}

/// The public declarations of a folder of Swift files: `Type.member(labels:)`. It reads lines, as `swift format` lays
/// them out, and knows no more of the language than that takes.
private struct DeclaredNames {
  private var members: [String: Set<String>] = [:]
  private var ancestors: [String: [String]] = [:]
  private var globals: Set<String> = []
  private(set) var deprecated: Set<String> = []

  init(in folder: URL) throws {
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    while let url = files?.nextObject() as? URL {
      guard url.pathExtension == "swift" else { continue }
      add(try String(contentsOf: url, encoding: .utf8).components(separatedBy: "\n"))
    }
  }

  func contains(_ name: String) -> Bool {
    if globals.contains(name) || members[name] != nil { return true }
    guard let dot = name.prefix(while: { $0 != "(" }).lastIndex(of: ".") else { return false }
    return has(String(name[name.index(after: dot)...]), String(name[..<dot]))
  }

  private func has(_ member: String, _ type: String) -> Bool {
    members[type]?.contains(member) ?? false
      || (ancestors[type] ?? []).contains { $0 != type && has(member, $0) }
  }

  private struct Scope {
    let indentation: Int
    let type: String
    let isPublic: Bool
  }

  private mutating func add(_ lines: [String]) {
    let declaration =
      #/
      (\x20*)(?:@\w+(?:\([^)]*\))?\x20)*
      ((?:[a-z]+(?:\([a-z]+\))?\x20)*)
      (class|struct|enum|protocol|extension|typealias|var|let|func|init|case)\b
      \x20*`?([\w.]*)`?(.*)
      /#
    var scopes: [Scope] = []
    var isDeprecated = false
    for (number, line) in lines.enumerated() {
      if line.contains("@available(*, deprecated") { isDeprecated = true }
      // By bytes: most lines are comments, and characters take long in a debug build.
      guard let first = line.utf8.first(where: { $0 != UInt8(ascii: " ") }),
        first == UInt8(ascii: "@") || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first),
        let match = line.wholeMatch(of: declaration)
      else { continue }
      let (indentation, kind, name) = (match.1.count, String(match.3), String(match.4))
      let modifiers = match.2.split(separator: " ")
      let isMarked = modifiers.contains("public") || modifiers.contains("open")
      scopes.removeAll { $0.indentation >= indentation }
      let outer = scopes.last
      let isObsolete = isDeprecated
      isDeprecated = false
      if ["class", "struct", "enum", "protocol", "extension"].contains(kind) {
        let type = kind == "extension" ? name : (outer.map { $0.type + "." } ?? "") + name
        if kind != "extension", isMarked { note(type, in: outer, name, String(match.5)) }
        if isObsolete { deprecated.insert(type) }
        scopes.append(
          Scope(indentation: indentation, type: type, isPublic: isMarked && kind != "class" && kind != "struct"))
        continue
      }
      guard isMarked || outer?.isPublic ?? false else { continue }
      let signature = ([String(match.5)] + lines[(number + 1)...].prefix(8)).joined(separator: " ")
      let names =
        switch kind {
        case "func": [name + Self.labels(signature)]
        case "init": ["init" + Self.labels(String(match.4) + signature)]
        case "case":
          (name + String(match.5)).split(separator: ",").compactMap {
            $0.split(separator: " ").first.map(String.init)
          }
        default: [name]
        }
      if let outer { members[outer.type, default: []].formUnion(names) } else { globals.formUnion(names) }
      if isObsolete { deprecated.formUnion(names.map { (outer.map { $0.type + "." } ?? "") + $0 }) }
    }
  }

  private mutating func note(_ type: String, in outer: Scope?, _ name: String, _ declaration: String) {
    members[type, default: []] = members[type] ?? []
    if let outer { members[outer.type, default: []].insert(name) }
    guard let inherited = declaration.prefixMatch(of: /(?:<[^>]*>)?: ([\w., <>]+)/)?.1 else { return }
    ancestors[type] = inherited.split(separator: ",").map { name in
      name.trimmingCharacters(in: .whitespaces).split(separator: "<").first.map(String.init) ?? ""
    }
  }

  /// The labels of the parameters that a declaration's text begins with, generic ones before them.
  private static func labels(_ text: String) -> String {
    guard
      let parameters = text.dropFirst(genericEnd(text)).split(
        separator: "(", maxSplits: 1, omittingEmptySubsequences: false
      ).last
    else { return "()" }
    var (labels, part, depth) = ("", "", 1)
    for character in parameters {
      if "([{<".contains(character) { depth += 1 }
      if ")]}".contains(character) || (character == ">" && part.last != "-") { depth -= 1 }
      if depth == 0 || (depth == 1 && character == ",") {
        if let label = part.split(whereSeparator: { " :".contains($0) }).first { labels += label + ":" }
        part = ""
      } else {
        part.append(character)
      }
      if depth == 0 { break }
    }
    return "(\(labels))"
  }

  private static func genericEnd(_ text: String) -> Int {
    guard text.hasPrefix("<") else { return 0 }
    var (depth, previous) = (0, Character(" "))
    for (offset, character) in text.enumerated() {
      if character == "<" { depth += 1 }
      if character == ">", previous != "-" { depth -= 1 }
      if depth == 0 { return offset + 1 }
      previous = character
    }
    return 0
  }
}
