import Foundation
import Jobs

/// What `workerpool status --watch` shows on a terminal: the status in its height, newer each time.
///
/// ```swift
/// import PoolClient
///
/// let client = try StatusClient(queue: "queue/")
/// var screen = StatusScreen()
/// screen.order = .memory
/// let layout = TextLayout(columns: 100, hasColours: true)
/// if let status = try client.request(StatusRequest(.status)).status {
///   screen.note(status, at: 0)
///   print(screen.lines(status, layout: layout, rows: 40, now: Date()).joined(separator: "\n"))
/// }
/// ```
///
/// The caller asks the pool, reads the keys and clears the terminal; the screen only makes lines. One screen for each
/// terminal: it remembers the order, the place and the last processor times.
public struct StatusScreen: Sendable {
  /// The order of the workers. Raw values are the keys that choose it.
  public enum Order: Character, CaseIterable, Sendable {
    case number = "n"
    case busy = "b"
    case memory = "m"
    case processor = "c"
    case done = "d"

    /// As in "sorted by memory".
    public var name: String {
      switch self {
      case .number: "number"
      case .busy: "running time"
      case .memory: "memory"
      case .processor: "processor"
      case .done: "jobs done"
      }
    }
  }

  /// The order of the workers. Default: by number. It counts from the next ``lines(_:layout:rows:now:)``.
  public var order = Order.number
  /// The first line that is shown below the title.
  public private(set) var offset = 0

  /// Whether it explains its keys, in place of the status. Default false.
  public var showsKeys = false

  private var meter = ProcessorMeter()
  private let reader: AdviceReader

  /// Makes a screen that shows workers by their number.
  ///
  /// - Parameter reader: for whom commands are written.
  public init(reader: AdviceReader = .plain) { self.reader = reader }

  /// Takes the processor times of a status, which become shares of a processor since the one before.
  ///
  /// - Parameter moment: seconds of a monotonic clock at which the status was asked.
  public mutating func note(_ status: PoolStatus, at moment: Double) { meter.note(status, at: moment) }

  /// Scrolls by lines, downwards for a positive number.
  public mutating func scroll(by lines: Int) { offset = max(0, offset + lines) }

  /// The lines of the screen, `rows` of them at most: the title with a clock, a part of the rest, and the keys.
  ///
  /// Workers come before what takes more room than it is worth on a low terminal.
  public mutating func lines(_ status: PoolStatus, layout: TextLayout, rows: Int, now: Date) -> [String] {
    if showsKeys { return ScreenHelp.lines(Self.keys, layout: layout, rows: rows) }
    var sorted = status
    sorted.workers = workers(status)
    let busy = status.workers.filter { !$0.running.isEmpty }.count
    var body = StatusText.summary(status, layout)
    if !status.workers.isEmpty {
      let share = Double(busy) / Double(status.workers.count)
      body += layout.wrapped(
        "workers   \(StatusText.bar(share, width: 20)) \(busy) of \(status.workers.count) busy", indentation: 10)
    }
    let advice = StatusText.advice(status, layout, reader)
    if !advice.isEmpty { body += [layout.styled("what to do", .warning)] + advice }
    body += [""] + StatusText.workers(sorted, layout: layout, shares: meter.shares)
    let groups = StatusText.backlog(status, layout)
    if !groups.isEmpty { body += [""] + groups }
    let problems = StatusText.problems(status, layout)
    if !problems.isEmpty { body += ["", layout.styled("what went wrong last", .strong)] + problems }
    let clock = Timestamp.text(now).dropFirst(11).prefix(8)
    let title = layout.wrapped("\(StatusText.title(status)); \(clock) UTC", indentation: 10).prefix(max(1, rows - 1))
    let room = rows - title.count - 1
    return title.map { layout.styled($0, .strong) } + window(body, rows: room)
      + [layout.styled(layout.cut(keys(body.count, room)), .weak)]
  }

  private func workers(_ status: PoolStatus) -> [PoolStatus.Worker] {
    func descending(_ value: (PoolStatus.Worker) -> Double) -> [PoolStatus.Worker] {
      status.workers.sorted { (value($1), $0.id) < (value($0), $1.id) }
    }
    return switch order {
    case .number: status.workers.sorted { $0.id < $1.id }
    case .busy: descending { $0.busy ?? -1 }
    case .memory: descending { Double($0.memory ?? 0) }
    case .processor: descending { $0.pid.flatMap { meter.shares[$0] } ?? 0 }
    case .done: descending { Double($0.jobsDone) }
    }
  }

  private mutating func window(_ body: [String], rows: Int) -> [String] {
    offset = min(offset, max(0, body.count - max(rows, 1)))
    return Array(body.dropFirst(offset).prefix(max(rows, 0)))
  }

  private func keys(_ count: Int, _ rows: Int) -> String {
    let part = count > rows ? "lines \(offset + 1) to \(min(count, offset + rows)) of \(count), arrows scroll; " : ""
    return "q quits; " + part + "sorted by \(order.name); ? help"
  }

  private static let keys: [(String, String)] =
    Order.allCases.map { (String($0.rawValue), "sorts the workers by \($0.name)") } + [
      ("up, down, k, j", "scroll by a line"), ("page up, page down, space", "scroll by a screen"),
      ("home", "leads to the top"), ("Ctrl-Z", "lets the shell have the terminal; `fg` leads back"),
      ("?", "shows and hides this"), ("q, Ctrl-C", "quits"),
    ]
}
