import Glibc

/// A moment in the life of a process: when it is, and how much processor time the process has used. Cheap to take.
package struct ProcessMoment: Equatable, Sendable {
  /// Seconds since the machine started, as ``ProcessTree`` counts them.
  package let date: Double
  /// Seconds of processor time of the process itself.
  package let seconds: Double

  package init(date: Double, seconds: Double) {
    self.date = date
    self.seconds = seconds
  }

  /// Now; nil when there is no such process.
  package init?(of pid: Int32) {
    guard let seconds = ProcessUsage.processorSeconds(of: pid) else { return nil }
    self.init(date: ProcessTree.now, seconds: seconds)
  }
}

/// What a process and all that it has started have used of the processors, as far as they live or were waited for.
package struct ProcessTree: Equatable, Sendable {
  /// A process that another one has started.
  package struct Descendant: Equatable, Sendable {
    /// When it was started, in seconds since the machine started, to a hundredth.
    package let startedAt: Double
    /// What it has used, with those of its children that were waited for.
    package let seconds: Double

    package init(startedAt: Double, seconds: Double) {
      self.startedAt = startedAt
      self.seconds = seconds
    }
  }

  /// When it was begun to ask, in seconds since the machine started.
  package let date: Double
  /// Seconds of the process itself.
  package let own: Double
  /// Seconds of its children that have ended and were waited for.
  package let waitedFor: Double
  /// The processes that live.
  package let descendants: [Descendant]

  package init(date: Double, own: Double, waitedFor: Double, descendants: [Descendant]) {
    self.date = date
    self.own = own
    self.waitedFor = waitedFor
    self.descendants = descendants
  }

  /// Seconds of all of them.
  package var seconds: Double { own + waitedFor + descendants.reduce(0) { $0 + $1.seconds } }

  /// Reads some files of each process and thread. Nil when there is no such process.
  ///
  /// Source: proc_pid_stat(5), `cutime`, `cstime` and `starttime`; proc_pid_task_children(5).
  package init?(of pid: Int32) {
    let date = Self.now
    guard let first = Self.process(pid) else { return nil }
    var descendants: [Descendant] = []
    var children = Self.children(of: pid)
    while let child = children.popLast() {
      guard let process = Self.process(child) else { continue }
      descendants.append(Descendant(startedAt: process.startedAt, seconds: process.own + process.waitedFor))
      children += Self.children(of: child)
    }
    self.init(date: date, own: first.own, waitedFor: first.waitedFor, descendants: descendants)
  }

  private static func process(_ pid: Int32) -> (own: Double, waitedFor: Double, startedAt: Double)? {
    guard let own = ProcessUsage.processorSeconds(of: pid), let fields = ProcFile.statFields(pid), fields.count > 19
    else { return nil }
    let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
    let waitedFor = (Double(fields[13]) ?? 0) + (Double(fields[14]) ?? 0)
    return (own, waitedFor / ticks, (Double(fields[19]) ?? 0) / ticks)
  }

  private static func children(of pid: Int32) -> [Int32] {
    ProcFile.threads(pid).flatMap { thread in
      let children = ProcFile.text(pid, "task/\(thread)/children") ?? ""
      return children.split(whereSeparator: \.isWhitespace).compactMap { Int32($0) }
    }
  }

  /// Seconds since the machine started, with the time that it slept. Source: clock_gettime(2), `CLOCK_BOOTTIME`.
  package static var now: Double {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
