import Foundation
import Jobs
import LinuxSystem
import TestFiles
import Testing

@testable import WorkerPool

@Suite(.ownThreads, .timeLimit(.minutes(20))) struct IncomingListenerTests {
  private let directory: URL
  private let takes = Collected<[String]?>()

  init() throws {
    directory = temporaryURL("listener")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  }

  /// Writes a file as a producer does. It may come twice: a child that another test forks meanwhile has the descriptor,
  /// and closes it when the file is in the directory.
  private func put(_ name: String) throws {
    let outside = directory.deletingLastPathComponent().appendingPathComponent("outside-\(UUID().uuidString)")
    try Data("{}".utf8).write(to: outside)
    #expect(rename(outside.path, directory.path + "/" + name) == 0)
  }

  private func remove() { try? FileManager.default.removeItem(at: directory) }

  @Test func filesThatComeWhileOthersAreTakenAreTakenTogether() throws {
    defer { remove() }
    let (hasBegun, goesOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let listener = try IncomingListener(directory.path) { [takes] names in
      takes.add(names)
      hasBegun.signal()
      goesOn.wait()
    }
    try put("1.json")
    hasBegun.wait()
    for number in 2...30 { try put("\(number).json") }
    for _ in 1...100 { goesOn.signal() }
    hasBegun.wait()
    let names = takes.all.prefix(2).map { Set($0 ?? []) }
    #expect(names[0] == ["1.json"])
    #expect(names[1].subtracting(names[0]) == Set((2...30).map { "\($0).json" }))
    listener.end()
  }

  @Test func anEndedListenerTakesNothingMore() throws {
    defer { remove() }
    let others = Collected<[String]?>()
    let listener = try IncomingListener(directory.path) { [takes] names in takes.add(names) }
    try put("1.json")
    #expect(takes.wait { $0.contains(["1.json"]) })
    listener.end()
    let other = try IncomingListener(directory.path) { names in others.add(names) }
    try put("2.json")
    #expect(others.wait { $0.contains(["2.json"]) })
    #expect(!takes.all.contains { $0?.contains("2.json") != false })
    other.end()
  }

  @Test func aDirectoryThatGoesAwayIsScanned() throws {
    let listener = try IncomingListener(directory.path) { [takes] names in takes.add(names) }
    remove()
    #expect(takes.wait { $0.contains(nil) })
    listener.end()
  }

  @Test func aDirectoryThatIsNotThereIsAnError() {
    remove()
    #expect(throws: SystemCallError.self) { try IncomingListener(directory.path) { _ in } }
  }
}

/// The jobs are in the store when the call returns, and the loop hears of the work only if it does not look already.
@Suite struct TakingHereTests {
  @Test func filesAreTakenOnTheCallersThread() throws {
    let place = try IntakePlace()
    defer { place.remove() }
    let store = try place.store()
    let watch = StoreWatch()
    let intake = try Intake(layout: place.layout, store: store, watch: watch)
    let reports = Collected<IntakeReport>()
    intake.start { reports.add($0) }
    try place.put(#"{"kind":"a"}"#, "1.json")
    intake.takeHere(["1.json"])
    #expect(try place.kinds(store) == ["a"])
    #expect(reports.all.map(\.jobs) == [0, 1], "the first only wakes the loop")

    watch.expect()
    #expect(watch.beginWatch())
    watch.finish()
    try place.put(#"{"kind":"b"}"#, "2.json")
    intake.takeHere(["2.json"])
    #expect(reports.all.map(\.jobs) == [0, 1, 1], "the loop looks already")
    intake.takeHere(nil)
    #expect(reports.all.map(\.jobs) == [0, 1, 1, 0], "a scan of an empty directory")
    #expect(try place.kinds(store) == ["a", "b"])
    #expect(watch.endWatch() == nil)
  }

  @Test func aTimerGoesOnWhileThereIsWork() {
    let watch = StoreWatch()
    #expect(!watch.beginWatch(), "nothing to look for")
    #expect(watch.expect())
    #expect(watch.beginWatch())
    #expect(!watch.beginWatch(), "one timer is enough")
    #expect(!watch.expect())
    watch.finish()
    #expect(watch.endWatch() == StoreWatch.timeout, "work waits that has not begun")
    watch.during {
      #expect((watch.endWatch() ?? 0) <= StoreWatch.timeout)
      #expect(watch.endWatch() != nil)
    }
    watch.finish()
    #expect(watch.endWatch() == nil)
    #expect(!watch.isBusy)
  }

  @Test func anIdlePoolHasNoTimerButAfterFilesThatTheLoopDidNotSee() {
    let watch = StoreWatch()
    watch.expect()
    #expect(watch.beginWatch())
    #expect(!watch.cancelWatch(), "there is work")
    watch.finish()
    #expect(watch.cancelWatch())
    #expect(watch.expect(isUnseen: true))
    #expect(watch.beginWatch())
    watch.finish()
    #expect(!watch.cancelWatch(), "more may come")
    #expect(watch.endWatch() == nil)
  }
}
