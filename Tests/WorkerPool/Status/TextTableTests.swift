import PoolClient
import Testing

@Suite struct TextTableTests {
  private func layout(_ columns: Int?, colours: Bool = false) -> TextLayout {
    TextLayout(columns: columns, hasColours: colours)
  }

  private let table: TextTable = {
    var table = TextTable([.text("name"), .number("size", worth: 1), .text("state", worth: 2), .text("error")])
    table.add(["one", "12", "dead", "a text that is longer than all the others of this table"], styles: [2: .bad])
    table.add(["twenty-two", "7", "", ""])
    return table
  }()

  @Test func columnsLineUpAndNumbersStandAtTheRight() {
    #expect(
      table.lines(layout(200)) == [
        "name        size  state  error",
        "one           12  dead   a text that is longer than all the others of this table",
        "twenty-two     7",
      ])
  }

  @Test func onANarrowTerminalTextsAreCutFirst() {
    #expect(table.lines(layout(50))[1] == "one           12  dead   a text that is longer th…")
  }

  @Test func thenTheColumnsOfLeastWorthAreLeftOut() {
    #expect(table.lines(layout(37))[0] == "name        state  error")
    #expect(table.lines(layout(30))[0] == "name        error")
    #expect(table.lines(layout(30))[1] == "one         a text that is lo…")
  }

  @Test(arguments: [1, 10, 20, 30, 50, 80, 200])
  func noLineIsWiderThanTheTerminal(columns: Int) {
    for line in table.lines(layout(columns)) { #expect(line.count <= max(columns, 15), "\(line)") }
  }

  /// What a terminal shows of wide characters, emoji and marks: two columns, two, and none.
  @Test func wideCharactersKeepTheColumnsInLine() {
    var table = TextTable([.text("name"), .text("state")])
    table.add(["日本国", "a"])
    table.add(["🏯🇯🇵", "b"])
    table.add(["e\u{0301}toile", "c"])
    table.add(["123456", "d"])
    #expect(
      table.lines(layout(80)) == [
        "name    state", "日本国  a", "🏯🇯🇵    b", "e\u{0301}toile  c", "123456  d",
      ])
    // And no half of a character is left where a text is cut.
    #expect(table.lines(layout(11))[1] == "日…   a")
    #expect(table.lines(layout(13))[1] == "日本国  a")
    #expect(layout(8).wrapped("日本国 日本国") == ["日本国", "日本国"])
  }

  @Test func coloursDoNotMoveColumnsAndAreLeftOutWhereThereAreNone() {
    let coloured = table.lines(layout(200, colours: true))
    #expect(
      coloured[1]
        == "one           12  \u{1B}[31mdead\u{1B}[0m   a text that is longer than all the others of this table")
    #expect(!table.lines(layout(200)).joined().contains("\u{1B}"))
  }

  @Test func longTextsAreWrappedAtSpacesAndLoseNothing() {
    let text = "process 17 has the store locked: let it end, or: /a/path/that/is/longer/than/a/line/can/be end"
    let lines = layout(30).wrapped(text, indentation: 4)
    #expect(lines.allSatisfy { $0.count <= 30 || $0.contains("/a/path") }, "\(lines)")
    #expect(lines.dropFirst().allSatisfy { $0.hasPrefix("    ") })
    #expect(lines.map { $0.trimmingPrefix("    ") }.joined(separator: " ") == text)
    #expect(layout(nil).wrapped(text) == [text])
    // A text keeps the spaces that it begins with.
    #expect(layout(9).wrapped("  one two three", indentation: 4) == ["  one two", "    three"])
  }

  @Test(arguments: [
    (1, "job", "1 job"), (0, "job", "0 jobs"), (2, "crash", "2 crashes"), (3, "process", "3 processes"),
    (2, "entry", "2 entries"), (2, "day", "2 days"), (2, "bad file", "2 bad files"),
  ])
  func nounsHaveTheirPlurals(count: Int, noun: String, text: String) {
    #expect(Plural.text(count, noun) == text)
  }
}
