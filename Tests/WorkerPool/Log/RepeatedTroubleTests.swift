import Foundation
import Testing

@testable import WorkerPool

@Suite struct RepeatedTroubleTests {
  @Test func theSameTroubleIsToldOnceInAWhile() {
    var repeated = RepeatedTrouble()
    func isNews(_ event: LogEvent, _ text: String, at now: Double) -> Bool {
      repeated.isNews(LogRecord(event: event, text: text), now: now)
    }
    let told = [0, 1, RepeatedTrouble.interval - 1, RepeatedTrouble.interval].map { isNews(.trouble, "a", at: $0) }
    #expect(told == [true, false, false, true])
    let other = isNews(.trouble, "b", at: 1)
    #expect(other)
    let rejected = [2, 3].map { isNews(.fileRejected, "c is rejected", at: $0) }
    #expect(rejected == [true, true])
  }

  /// However many files fail, each is told, and what is remembered of them is bounded.
  @Test func manyTroublesAreAllTold() {
    var repeated = RepeatedTrouble()
    let told = (0..<5000).count { repeated.isNews(LogRecord(event: .trouble, text: "\($0)"), now: 0) }
    #expect(told == 5000)
  }

  @Test func anErrorOfFoundationsFilesIsASentence() {
    let path = "/proc/self/no-such-file"
    do {
      _ = try Data(contentsOf: URL(fileURLWithPath: path))
      Issue.record("there is no such file")
    } catch {
      #expect(ErrorText.text(error) == "\(path): No such file or directory")
    }
  }
}
