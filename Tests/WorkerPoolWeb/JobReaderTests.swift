import CoreData
import Foundation
import Jobs
import PoolClient
import Testing

@testable import WorkerPoolWeb

/// What pages read, within a time.
@Suite struct JobReaderTests {
  private struct Late: Error {}

  /// No statement that can be ended compares patterns.
  @Test(.timeLimit(.minutes(20))) func failuresAreNotLookedAtForLongerThanAPageMayTake() throws {
    let file = try JobsFile { store, context in
      for job in try store.insert((0..<3).map { _ in JobRequest(kind: "a") }, into: context, at: Date()) {
        let failure = AttemptFailure(attempt: 1, date: Date(), type: "E", message: "no room")
        try job.markFailed(failure, policy: RetryPolicy(maxAttempts: 1))
      }
    }
    let jobs = file.reader
    var filter = JobFilter()
    filter.error = "E: no room"
    #expect(try jobs.page(JobList(filter: filter)).count == 3)
    // Asked as often as the time needs to end.
    #expect(throws: PageError.self) { try jobs.within(0.01) { while true { try jobs.reader.checkTime() } } }
    #expect(try jobs.failures().groups.map(\.dead) == [3], "the next page has its own time")
    jobs.reader.checkTime = { throw Late() }
    #expect(throws: Late.self) { try jobs.reader.failures() }
    #expect(throws: Late.self) { try jobs.reader.counts(filter) }
    #expect(throws: Late.self) { try jobs.reader.keys(filter, upTo: 3, limit: 3) }
  }

  /// The numbers of the jobs on all pages of a list, which begins with p1.
  private func keys(_ first: JobList, in jobs: JobReader) throws -> [[Int64]] {
    var pages: [[Int64]] = []
    var list: JobList? = first
    while let present = list {
      let page = try jobs.page(present)
      pages.append(page.rows.map(\.key))
      list = page.next
    }
    return pages
  }

  @Test func eachOrderShowsEachJobOnceOverItsPages() throws {
    // Given 120 jobs, of which every third has succeeded, the later the older it is
    let start = Date(timeIntervalSinceNow: -86_400)
    let file = try JobsFile { store, context in
      let jobs = try store.insert((0..<120).map { _ in JobRequest(kind: "a") }, into: context, at: start)
      for (number, job) in jobs.enumerated() where number % 3 == 0 {
        try job.markSucceeded(startedAt: start, at: start + 1000 - Double(number))
      }
    }
    // When
    let pages = try JobOrder.allCases.map { try keys(JobList(filter: JobFilter(), order: $0), in: file.reader) }
    var done = JobFilter()
    done.state = .succeeded
    let ended = try keys(JobList(filter: done, order: .finished), in: file.reader)
    // Then
    for (order, pages) in zip(JobOrder.allCases, pages) {
      #expect(pages.map(\.count) == [50, 50, 20], "\(order)")
      #expect(Set(pages.joined()).count == 120, "\(order)")
    }
    #expect(Array(pages[0].joined()) == Array(pages[1].joined().reversed()))
    let oldest = Array(pages[1].joined())
    let succeeded = oldest.enumerated().filter { $0.offset % 3 == 0 }.map(\.element)
    #expect(Array(ended.joined()) == succeeded)
    #expect(
      JobList(filter: done, order: .finished).hasIndex && !JobList(filter: JobFilter(), order: .finished).hasIndex)
  }

  @Test func jobsAreChosenByArrivalAndByTag() throws {
    let start = Date(timeIntervalSinceReferenceDate: 800_000_000)
    let file = try JobsFile { store, context in
      for number in 0..<30 {
        var request = JobRequest(kind: "a", parameters: #"{"number":\#(number)}"#)
        request.options.tags = number % 10 == 0 ? ["ten", "round"] : []
        // One of them was saved a little later than the next.
        let delay = number == 14 ? 90.0 : 0
        _ = try store.insert([request], into: context, at: start + 60 * Double(number) - delay)
        try context.save()
      }
    }
    func numbers(_ change: (inout JobFilter) -> Void) throws -> [String] {
      var filter = JobFilter()
      change(&filter)
      return try file.reader.page(JobList(filter: filter)).rows.compactMap(\.parameters)
    }
    #expect(try numbers { $0.tag = "ten" } == [20, 10, 0].map { #"{"number":\#($0)}"# })
    #expect(try numbers { ($0.from, $0.to) = (start + 1, start + 120) } == [#"{"number":1}"#])
    let atTwelve = try numbers { ($0.from, $0.to) = (start + 12 * 60, start + 13 * 60) }
    #expect(atTwelve == [#"{"number":14}"#, #"{"number":12}"#])
    #expect(try numbers { $0.from = start + 30 * 60 }.isEmpty && numbers { $0.to = start - 1 }.isEmpty)
    let row = try #require(try file.reader.page(JobList(filter: JobFilter())).rows.last)
    #expect(row.tags == ["ten", "round"])
    let tags = try file.reader.reader.tags(JobFilter())
    #expect(tags.map(\.tag) == ["round", "ten"] && tags.map(\.states) == [["available": 3], ["available": 3]])
  }

  @Test func anAddressKeepsTheListThatItNames() throws {
    let text =
      "/jobs?state=dead&tag=a%20b&from=2026-01-01T00%3A00%3A00Z&to=2026-01-02T00%3A00%3A00Z&sort=attempts&skip=50"
    #expect(JobList(HTTPRequest(method: "GET", target: text).query).address.text == text)
    let newest = "/jobs?kind=a&before=17"
    #expect(JobList(HTTPRequest(method: "GET", target: newest).query).address.text == newest)
    // A browser without scripts sends what was typed, which is UTC.
    let typed = JobFilter(Parameters(encoded: "from=2026-01-01T10%3A30&to=2026-01-01T10%3A30%3A05"))
    #expect(typed.from == Timestamp.date("2026-01-01T10:30:00Z") && typed.to == Timestamp.date("2026-01-01T10:30:05Z"))
    // What is no time must not choose all jobs: all of them may be deleted next.
    let wrong = JobFilter(Parameters(encoded: "from=yesterday"))
    #expect(wrong.from == .distantFuture && !wrong.isEverything)
  }
}
