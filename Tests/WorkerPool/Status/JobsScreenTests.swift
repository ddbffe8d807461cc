import Foundation
import Jobs
import PoolClient
import Testing

/// The keys of `jobs --watch`.
@Suite struct JobsScreenTests {
  private let layout = TextLayout(columns: 80, hasColours: false)

  private func screen(jobs: ClosedRange<Int>) -> JobsScreen {
    var screen = JobsScreen(JobFilter(), order: .newest)
    fill(&screen, jobs)
    return screen
  }

  /// Shows these jobs, the newest first.
  private func fill(_ screen: inout JobsScreen, _ jobs: ClosedRange<Int>) {
    let names = jobs.reversed().map { "p\($0)" }
    screen.show(jobs: names.map { "x-coredata://A/PoolJob/\($0)" }, table: ["job"] + names)
  }

  private func lines(_ screen: inout JobsScreen, rows: Int = 10) -> [String] {
    screen.lines(layout: layout, rows: rows, clock: "12:34:56")
  }

  @discardableResult
  private func press(_ event: ScreenEvent, _ screen: inout JobsScreen, rows: Int = 10) -> Bool {
    screen.handle(event, rows: rows)
  }

  private func selected(_ screen: inout JobsScreen, rows: Int = 10) -> String? {
    lines(&screen, rows: rows).first { $0.hasPrefix("> ") }.map { String($0.dropFirst(2)) }
  }

  @Test func theSelectedJobStaysSelectedAndInSightWhenOthersCome() {
    var screen = screen(jobs: 1...30)
    #expect(lines(&screen).first == "  job" && lines(&screen).count == 10)
    #expect(lines(&screen).last == "newest first; 12:34:56 UTC; q quits; / filters; Enter opens; ? help")
    // Nothing selected: the first job, also when it is another one.
    #expect(selected(&screen) == "p30")
    fill(&screen, 1...31)
    #expect(selected(&screen) == "p31")
    // When one is selected
    for _ in 0..<12 { press(.down, &screen) }
    #expect(selected(&screen) == "p19")
    fill(&screen, 1...45)
    // Then it is the one that is shown, whatever comes
    #expect(selected(&screen) == "p19")
    press(.pageUp, &screen)
    #expect(selected(&screen) == "p27")
    // And when it is deleted, its place is.
    fill(&screen, 1...20)
    #expect(selected(&screen) == "p2")
    press(.home, &screen)
    fill(&screen, 1...46)
    #expect(selected(&screen) == "p46")
    for rows in 1...6 { #expect(lines(&screen, rows: rows).count <= max(2, rows)) }
  }

  @Test func moreJobsAreReadBeforeTheLastIsReached() {
    var screen = screen(jobs: 1...20)
    #expect(screen.limit(rows: 10) == 20)
    #expect(!press(.down, &screen))
    #expect(!press(.pageDown, &screen))
    #expect(press(.pageDown, &screen))
    _ = lines(&screen)
    #expect(screen.limit(rows: 10) > 20)
  }

  @Test func aJobOpensAndItsStoryScrolls() {
    var screen = screen(jobs: 1...3)
    press(.down, &screen)
    #expect(press(.enter, &screen) && screen.openedURI == "x-coredata://A/PoolJob/p2")
    screen.show(story: (1...30).map { "line \($0)" })
    #expect(lines(&screen).first == "line 1")
    #expect(lines(&screen).last == "Esc leads back; q quits; arrows scroll")
    press(.down, &screen)
    #expect(lines(&screen).first == "line 2")
    press(.pageDown, &screen)
    #expect(lines(&screen).first == "line 10")
    press(.escape, &screen)
    #expect(screen.openedURI == nil && selected(&screen) == "p2")
  }

  @Test func aFilterIsTypedAndRemoved() {
    var screen = screen(jobs: 1...3)
    func type(_ text: String) { for letter in text { press(.key(letter), &screen) } }
    type("/dead?")
    press(.backspace, &screen)
    #expect(screen.isTyping && lines(&screen).last == "filter: dead_")
    type(" tag=a:1 no room")
    #expect(screen.filter.isEverything)
    #expect(press(.enter, &screen) && !screen.isTyping)
    var wanted = JobFilter()
    (wanted.stateName, wanted.tag, wanted.search) = ("dead", "a:1", "no room")
    #expect(screen.filter == wanted)
    #expect(lines(&screen).last?.hasPrefix("newest first; only dead tag=a:1 no room; ") == true)
    // What is not entered changes nothing.
    type("/x")
    press(.escape, &screen)
    #expect(screen.filter == wanted)
    #expect(press(.escape, &screen) && screen.filter.isEverything)
    // Other options of the command stay.
    var base = JobFilter()
    base.kind = "index"
    #expect(JobsScreen.filter("running queue=slow", within: base).kind == "index")
    #expect(JobsScreen.filter("running queue=slow", within: base).isRunning == true)
    #expect(JobsScreen.filter("kind= 50%", within: base).search == "kind= 50%")
  }

  @Test func helpTakesTheScreenUntilAnyKey() {
    var screen = screen(jobs: 1...3)
    press(.key("?"), &screen, rows: 24)
    let help = lines(&screen, rows: 24)
    #expect(help.first == "keys" && help.contains { $0.contains("opens the selected job") } && help.count <= 24)
    #expect(help.allSatisfy { $0.count <= 80 })
    press(.redraw, &screen, rows: 24)
    #expect(lines(&screen, rows: 24) == help)
    press(.key("x"), &screen, rows: 24)
    #expect(selected(&screen) == "p3")
    var status = StatusScreen()
    status.showsKeys = true
    let pool = PoolStatus(
      pid: 1, store: "s", model: "m", phase: "running", age: 1, isPaused: false, pausedQueues: [], pausedKinds: [],
      workerCount: 0, workers: [], plugins: [], waiting: [:], counters: .init(), restarts: 0, rates: [], problems: [])
    let keys = status.lines(pool, layout: layout, rows: 24, now: Date())
    #expect(keys.contains { $0.contains("sorts the workers by memory") } && keys.count <= 24)
  }
}
