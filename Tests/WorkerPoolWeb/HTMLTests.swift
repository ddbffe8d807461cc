import Foundation
import Testing

@testable import WorkerPoolWeb

@Suite struct HTMLTests {
  @Test func textIsEscaped() {
    let html = tag("p", Attribute("title", "\"a' <b>")) { "<script>alert(1)</script> & \u{0} \u{1B}[31m" }
    #expect(
      html.markup
        == "<p title=\"&quot;a&#39; &lt;b&gt;\">&lt;script&gt;alert(1)&lt;/script&gt; &amp; \u{FFFD} \u{FFFD}[31m</p>")
  }

  @Test func textCannotTurnWhatFollowsBackToFront() {
    #expect(tag("p") { "\u{202E}drowssap \u{2067}…“a”" }.markup == "<p>\u{FFFD}drowssap \u{FFFD}…“a”</p>")
  }

  @Test func addressesAreEncodedPartByPart() {
    let address = Address("jobs", "../a b/ü?", query: ["kind": "a&b=c#\"", "queue": nil])
    #expect(address.text == "/jobs/..%2Fa%20b%2F%C3%BC%3F?kind=a%26b%3Dc%23%22")
  }

  @Test func emptyElementsHaveNoEndTag() {
    #expect(tag("input", .type("hidden"), .value("")).markup == "<input type=\"hidden\" value=\"\">")
  }

  @Test func formsAreReadAsTheyAreWritten() {
    let address = Address("x", query: ["a": "1 + 1 = 2 & more", "b": "ü"])
    let request = HTTPRequest(method: "GET", target: address.text)
    #expect(request.path == "/x")
    #expect(request.query["a"] == "1 + 1 = 2 & more")
    #expect(request.query["b"] == "ü")
    #expect(request.query["c"] == nil)
    #expect(Parameters(encoded: "a=1+2&a=3&b&%zz=%").pairs.map(\.name) == ["a", "a", "b", "%zz"])
  }

  @Test func axesEndAtRoundNumbers() {
    for (highest, top, count) in [(0.0, 1.0, 6), (1.0, 1.0, 6), (7, 8, 5), (96, 100, 6), (1234, 1500, 4)] {
      let scale = Scale(highest: highest)
      #expect(scale.top >= highest)
      #expect(abs(scale.top - top) < top * 0.35, "\(highest): \(scale)")
      #expect(scale.ticks.count <= count + 1)
      #expect(scale.ticks.first == 0 && scale.ticks.last == scale.top)
    }
  }

  /// There are no half jobs.
  @Test func axesOfCountsHaveWholeNumbers() {
    for highest in [0.0, 0.3, 1, 2, 3, 5, 9, 14, 1234] {
      let scale = Scale(highest: highest, isCount: true)
      #expect(scale.top >= highest && scale.ticks.count > 1)
      #expect(scale.ticks.allSatisfy { $0 == $0.rounded() }, "\(highest): \(scale.ticks)")
    }
  }

  @Test func jsonIsReadAsPeopleReadIt() {
    let text = #"{"exitCode":3,"stdout":"one line","stderr":"two\nlines\n","deep":{"a":[1,"b"]}}"#
    #expect(
      ReadableJSON.text(text)
        == "exitCode: 3\nstdout: \"one line\"\nstderr:\n  two\n  lines\ndeep: {\"a\":[1,\"b\"]}")
    for other in ["plain text", "[1,2]", "{}", "{\"a\":", ""] { #expect(ReadableJSON.text(other) == other) }
  }

  @Test func farDatesAreDates() {
    let now = Date(timeIntervalSinceReferenceDate: 0)
    #expect(When.age(now - 40, now: now).markup.hasSuffix(">40 s ago</time>"))
    #expect(When.age(now + 86_400 * 3, now: now).markup.hasSuffix(">in 3 d</time>"))
    #expect(When.age(now + 86_400 * 400, now: now).markup.hasSuffix(">2002-02-05</time>"))
    #expect(When.age(now - 86_400 * 400, now: now).markup.hasSuffix(">1999-11-28</time>"))
  }

  @Test func nounsAgreeWithTheirNumbers() {
    #expect(Count.text(0, "job") == "0 jobs" && Count.text(1, "job") == "1 job")
    #expect(Count.text(1, "crash") == "1 crash" && Count.text(2, "crash") == "2 crashes")
    #expect(Count.text(3, "worker process") == "3 worker processes")
  }
}
