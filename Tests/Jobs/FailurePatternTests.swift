import Foundation
import Jobs
import Testing

/// Failures of one cause have one pattern.
@Suite struct FailurePatternTests {
  @Test(arguments: [
    ("HTTPError: \"/users/17\" answered 503 after 1.5 s", "HTTPError: \"…\" answered # after # s"),
    ("crash: worker 12 was killed by signal 9 (SIGKILL)", "crash: worker # was killed by signal # (SIGKILL)"),
    ("E: no x-coredata://F00DBEEF-ABCD-beef-4711-00000000cafe/PoolJob/p17", "E: no x-coredata://#/PoolJob/p#"),
    ("E: at 0xdeadbeef in 4f2a9c81 of the cafe", "E: at # in # of the cafe"),
    ("E: 10.0.0.1:5432 refuses, 12:30:05", "E: # refuses, #"),
    ("E: can't open 'a b.txt' or `c`", "E: can't open '…' or `…`"),
    ("E: “one” and «two» and an open \"quote", "E: “…” and «…» and an open \"quote"),
    ("E: sha256 of ISO8601 in utf8", "E: sha# of ISO# in utf#"),
    ("E: first line 1\nsecond line 2", "E: first line #"),
    ("E: -5, #7", "E: -#, ##"), ("E: a\0b", "E: a\u{FFFD}b"),
    ("E:", "E:"), ("", ""),
  ])
  func whatDiffersBetweenFailuresOfOneCauseIsMasked(text: String, pattern: String) {
    #expect(AttemptFailure.pattern(of: text) == pattern)
    #expect(AttemptFailure.pattern(of: pattern) == pattern, "the pattern of a pattern is the pattern")
  }

  @Test func anEmptyFirstLineIsPassedOver() {
    let failure = AttemptFailure(attempt: 1, date: Date(), type: "E", message: "\n  \nno room for 3 rows\nhint")
    #expect(failure.pattern == "E: no room for # rows")
  }

  /// As a statement looks for failures with a pattern, no matter who has written their JSON.
  @Test(arguments: [
    ("E:", "E"), ("ValueError: ", "ValueError"), ("E: Die Größe der Datei", "e der Datei"),
    ("E: a/b of <x> & it's", "b of "), ("E: \"x\" answered 503 after 1.5 s", "answered "),
    ("E:   far", "far"), ("#: ü", nil), ("", nil),
  ])
  func theLiteralOfAPatternStandsInEachJSON(text: String, literal: String?) {
    let found = AttemptFailure.literal(of: AttemptFailure.pattern(of: text))
    #expect(found == literal)
  }

  @Test(.timeLimit(.minutes(20))) func aLongLineOfOpenQuotationsIsReadAFewTimes() {
    let text = "E: " + String(repeating: "“‘«", count: 200_000)
    #expect(AttemptFailure.pattern(of: text) == text.prefix(AttemptFailure.longestPattern))
  }

  @Test func aPatternIsBoundedAndStaysItsOwnPattern() {
    let text = "E: " + String(repeating: "a1 \"b\" ", count: 200)
    let pattern = AttemptFailure.pattern(of: text)
    #expect(pattern.count <= AttemptFailure.longestPattern && pattern.count > AttemptFailure.longestPattern - 8)
    #expect(AttemptFailure.pattern(of: pattern) == pattern)
  }
}
