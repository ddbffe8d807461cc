import ModelFiles
import Testing

@Suite("Sorting by texts and numbers") struct SortingTests {
  private struct Row {
    let text: String
    let number: Int
    let place: Int
  }

  /// Texts that are equal with different bytes, that are in another order by their bytes, and that repeat.
  private static let texts = ["", "a", "aa", "ab", "b", "Z", "z", "é", "e\u{301}", "f", "\u{FFFD}", "\u{1F600}"]

  @Test(
    "The order is that of the standard library, which keeps equal elements in their order",
    arguments: [0, 1, 2, 12, 100])
  func sameAsStandardLibrary(count: Int) {
    let rows = (0..<count).map { place in
      Row(text: Self.texts[place * 7 % Self.texts.count], number: place * 5 % 9 - 4, place: place)
    }
    #expect(rows.sorted(on: { $0.text }).map(\.place) == rows.sorted { $0.text < $1.text }.map(\.place))
    #expect(
      rows.sorted(onBytes: { $0.text }).map(\.place)
        == rows.sorted { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }.map(\.place))
    #expect(rows.sorted(on: { $0.number }).map(\.place) == rows.sorted { $0.number < $1.number }.map(\.place))
    let texts = rows.map(\.text)
    #expect(texts.sorted().map { Array($0.utf8) } == texts.sorted(by: <).map { Array($0.utf8) })
  }
}
