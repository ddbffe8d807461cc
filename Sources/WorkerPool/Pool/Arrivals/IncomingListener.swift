import CSystem
import Glibc
import LinuxSystem
import Synchronization

/// Waits for the files that come into `incoming/`, on a thread of its own that takes them, too.
///
/// A file that comes while the pool is idle wakes one thread before its jobs are committed. If the loop read the
/// events, it would have to wake the intake's queue, and either may be on a processor that sleeps:
///
/// ```text
/// producer     rename ─┐
/// listener             └▶ rename into taken/, read, commit ─┐
/// loop                                                      └▶ RUN ─┐
/// worker                                                            └▶ BEGIN, the job's row, the job
/// ```
final class IncomingListener: Sendable {
  /// Files that come more often than that, in seconds, are a stream.
  static let streamInterval = 0.000_2
  /// Seconds for which the files of a stream are gathered, to be taken in one transaction: more while many come, since
  /// most of a small transaction's cost is its beginning and its end.
  static let gatheringTimes = 0.002...0.016
  /// From this number on, files at a time are many.
  static let manyFiles = 24

  /// Wakes the thread when it has to end.
  private let wake: Descriptor
  private let isEnded = Atomic(false)

  /// - Parameter take: takes the files with these names, or scans for all with nil. Called on the thread; the next
  ///   events are read when it returns.
  /// - Throws: when the directory cannot be watched, or no thread can be started.
  init(_ path: String, take: @escaping @Sendable ([String]?) -> Void) throws(SystemCallError) {
    wake = try Descriptor(csystem_eventfd(), "eventfd")
    // `nonisolated(unsafe)`: from now on the thread alone uses it.
    nonisolated(unsafe) let watch = try DirectoryWatch(path)
    try BackgroundThread.start("incoming files") { [self] in listen(to: watch, take) }
  }

  /// Takes no more files, apart from those that are being taken now. The thread ends soon.
  func end() {
    isEnded.store(true, ordering: .relaxed)
    var one: UInt64 = 1
    _ = write(wake.number, &one, 8)
  }

  // MARK: The thread

  /// A file is taken at once. While files come in a stream, the events are read now and then.
  private func listen(to watch: DirectoryWatch, _ take: ([String]?) -> Void) {
    var lastRead = 0.0
    var gatheringTime = Self.gatheringTimes.lowerBound
    while wait(for: watch.descriptor) {
      let changes = watch.collect()
      let now = Clock.now
      defer { lastRead = now }
      take(changes.needsScan ? nil : changes.names)
      let times = Self.gatheringTimes
      gatheringTime = changes.names.count < Self.manyFiles ? times.lowerBound : min(times.upperBound, gatheringTime * 2)
      guard changes.names.count > 1 || now - lastRead < Self.streamInterval else { continue }
      let pause = now + gatheringTime - Clock.now
      if pause > 0 { _ = wait(for: -1, milliseconds: Int32((pause * 1000).rounded(.up))) }
    }
  }

  /// Waits until the descriptor is readable, or for that time; false when the thread has to end.
  private func wait(for descriptor: Int32, milliseconds: Int32 = -1) -> Bool {
    var watched = [
      pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: wake.number, events: Int16(POLLIN), revents: 0),
    ]
    // The process has handlers for signals that any thread may get.
    while poll(&watched, 2, milliseconds) < 0, errno == EINTR {}
    return !isEnded.load(ordering: .relaxed)
  }
}
