import Foundation
import Testing
import WorkerProtocol

@testable import WorkerPool

@Suite struct StatusScreenTests {
  private let narrow = TextLayout(columns: 80, hasColours: false)
  private let now = Date(timeIntervalSinceReferenceDate: 12 * 3600 + 34 * 60 + 56)

  /// A pool with workers; those with an even number are busy.
  private func status(workers: Int, seconds: Double = 10) -> PoolStatus {
    // One by one: the compiler takes ten seconds for all as one expression.
    let workerList = (1...workers).map { number -> PoolStatus.Worker in
      let isBusy = number.isMultiple(of: 2)
      let running: [String] = isBusy ? ["x-coredata://A/PoolJob/p\(number)"] : []
      let progress: (Int?, Int?) = number == 2 ? (30, 60) : (nil, nil)
      let busy: Double? = isBusy ? Double(number) : nil
      let memory: Int = number << 20
      let processorTime: Double = seconds * Double(number) / 10
      return PoolStatus.Worker(
        id: number, plugin: "index", pid: Int32(1000 + number), phase: "up", age: 100, credit: 1,
        holding: isBusy ? 1 : 0, running: running, progressDone: progress.0, progressTotal: progress.1, busy: busy,
        jobsDone: 100 - number, memory: memory, processorTime: processorTime, isRetiring: false, path: "/worker-index",
        lastLines: [])
    }
    let rate = PoolStatus.Rate(minutes: 1, done: 2, failed: 0)
    let problem = PoolStatus.Problem(
      time: "2026-01-01T00:00:00Z", event: "job.crashed", text: "x-coredata://A/PoolJob/p9, and more")
    return PoolStatus(
      pid: 4711, store: "s", model: "m", phase: "running", age: 7300, isPaused: false, pausedQueues: [],
      pausedKinds: [],
      workerCount: workers,
      workers: workerList, plugins: [], waiting: [:], counters: .init(), restarts: 1,
      jobs: ["running": 6, "available": 3],
      walBytes: 4 << 20, rates: [rate], waitingTime: .init([0.001]), runTime: .init([1]), problems: [problem])
  }

  @Test func twelveWorkersFitIntoALowTerminal() {
    var screen = StatusScreen()
    let lines = screen.lines(status(workers: 12), layout: narrow, rows: 24, now: now)
    #expect(lines.count <= 24)
    #expect(lines.allSatisfy { $0.count <= 80 }, "\(lines.filter { $0.count > 80 })")
    #expect(lines[0] == "pool 4711, running; version \(Release.text), started 2 h 1 min ago; 12:34:56 UTC")
    for number in 1...12 { #expect(lines.contains { $0.hasPrefix("\(number) ") }, "worker \(number) in \(lines)") }
    #expect(lines.contains { $0.contains("████·") && $0.contains("50 %") && $0.hasSuffix("p2") }, "\(lines)")
    #expect(
      lines.contains { $0.hasPrefix("workers   ██████████··········  6 of 12 busy") || $0.hasSuffix("6 of 12 busy") })
    #expect(lines.last?.hasPrefix("q quits; lines 1 to 22 of ") == true)
  }

  @Test func whatDoesNotFitIsReachedByScrolling() {
    var screen = StatusScreen()
    let status = status(workers: 40)
    var seen: Set<String> = []
    for _ in 0..<10 {
      seen.formUnion(screen.lines(status, layout: narrow, rows: 12, now: now))
      screen.scroll(by: 10)
    }
    for number in 1...40 { #expect(seen.contains { $0.hasPrefix("\(number) ") }, "worker \(number)") }
    #expect(seen.contains("  2026-01-01T00:00:00Z  p9, and more"))
    // The end is the end.
    _ = screen.lines(status, layout: narrow, rows: 12, now: now)
    let end = screen.offset
    screen.scroll(by: 1000)
    _ = screen.lines(status, layout: narrow, rows: 12, now: now)
    #expect(screen.offset == end)
    screen.scroll(by: -1000)
    #expect(screen.offset == 0)
  }

  @Test func workersAreSortedByWhatAKeyNames() throws {
    var screen = StatusScreen()
    screen.note(status(workers: 12, seconds: 10), at: 50)
    screen.note(status(workers: 12, seconds: 20), at: 60)
    func first(_ key: Character) throws -> String {
      screen.order = try #require(StatusScreen.Order(rawValue: key))
      let lines = screen.lines(status(workers: 12), layout: narrow, rows: 30, now: now)
      let header = try #require(lines.firstIndex { $0.hasPrefix("worker  ") })
      return lines[header + 1]
    }
    #expect(try first("n").hasPrefix("1 "))
    #expect(try first("m").hasPrefix("12 "))
    #expect(try first("b").hasPrefix("12 "))
    #expect(try first("d").hasPrefix("1 "))
    // 2.4 seconds of processor time in ten seconds for each second of the number's tenth.
    #expect(try first("c").hasPrefix("12 "))
    #expect(try first("c").contains(" 120 "))
  }

  /// A terminal shows the end of a line that is too long in its last column, over what belongs there.
  @Test(arguments: [40, 60, 72])
  func noLineIsLongerThanANarrowTerminal(columns: Int) {
    var screen = StatusScreen()
    var status = status(workers: 12)
    status.pausedQueues = ["mails", "reports"]
    let layout = TextLayout(columns: columns, hasColours: false)
    let lines = screen.lines(status, layout: layout, rows: 40, now: now)
    #expect(lines.count <= 40)
    #expect(lines.allSatisfy { $0.count <= columns }, "\(lines.filter { $0.count > columns })")
    #expect(lines.prefix(4).joined().contains("12:34:56"))
    #expect(lines.last?.hasPrefix("q quits") == true && lines.last?.count ?? 0 <= columns)
  }

  @Test(arguments: [1, 2, 3, 5])
  func aTerminalOfAFewRowsIsNotOverrun(rows: Int) {
    var screen = StatusScreen()
    #expect(screen.lines(status(workers: 12), layout: narrow, rows: rows, now: now).count <= max(rows, 2))
  }
}
