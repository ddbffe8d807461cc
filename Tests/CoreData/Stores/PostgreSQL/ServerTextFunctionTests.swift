@testable import CoreDataPostgreSQL
import TestFiles
import Testing

@testable import CoreData

/// The server's functions of texts give what the code in memory gives, for every character and for mixed texts.
@Suite(.enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"))
struct ServerTextFunctionTests {
  private static func inMemory(_ function: StoredTextFunction, _ text: String) -> String {
    switch function {
    case .upper: text.uppercased()
    case .lower: text.lowercased()
    default: StringMatching.folded(text, function.options)
    }
  }

  /// Every character that has another case, is a mark or consists of others; of the rest some.
  private static func characters() -> [String] {
    (1..<0x1F000 as Range<UInt32>).compactMap(Unicode.Scalar.init).filter { scalar in
      let properties = scalar.properties
      return properties.changesWhenUppercased || properties.changesWhenLowercased
        || properties.canonicalCombiningClass != .notReordered || scalar.value < 0x3400 || scalar.value % 97 == 0
    }.map { String($0) }
  }

  private static func mixed(_ characters: [String], seed: UInt64) -> [String] {
    var random = SeededGenerator(seed: seed)
    let marks = ["\u{301}", "\u{308}", "\u{345}", "\u{323}", "\u{327}", "\u{1161}", "\u{11A8}"]
    let common = ["a", "B", "ß", "Ä", "é", "Σ", "ς", "İ", "ı", "ﬁ", "각", "ᄀ", "日", "ẞ", "1", "07"]
    return (0..<3000).map { _ in
      (0..<Int.random(in: 0..<9, using: &random)).map { _ in
        switch Int.random(in: 0..<4, using: &random) {
        case 0: characters.randomElement(using: &random) ?? ""
        case 1: marks.randomElement(using: &random) ?? ""
        default: common.randomElement(using: &random) ?? ""
        }
      }.joined()
    }
  }

  @Test func theyGiveWhatTheCodeInMemoryGives() throws {
    let stack = try StoreStack(.server)
    let store = try #require(stack.store as? ServerStore)
    #expect(store.dialect.hasTextFunctions)
    let characters = Self.characters()
    let texts = characters + characters.map { "xY\($0)é" } + Self.mixed(characters, seed: 7)
    let functions = ServerTextFunctions(address: store.address)
    let connection = try ServerDriver.open(PostgreSQLServer.shared.address())
    for function in StoredTextFunction.allCases where function != .natural {
      var array = ServerArray(.text)
      for text in texts { array.append(text) }
      var parameters = ServerParameters()
      parameters.add(array)
      let rows = try connection.execute(
        "SELECT \(functions.name(function))(t) FROM unnest($1) WITH ORDINALITY AS u (t, n) ORDER BY n", parameters)
      var wrong: [String] = []
      for (index, text) in texts.enumerated() {
        let (actual, expected) = (rows.text(index, 0) ?? "nil", Self.inMemory(function, text))
        if !actual.utf8.elementsEqual(expected.utf8) {
          wrong.append("\(text.unicodeScalars.map { String($0.value, radix: 16) }): \(actual), not \(expected)")
        }
      }
      #expect(wrong.isEmpty, "\(function): \(wrong.count), \(wrong.prefix(5))")
    }
  }
}
