import Jobs

/// What jobs have used, as the kernel counts it for the processes of their workers.
///
/// ```swift
/// import PoolClient
///
/// if let status = try StatusClient(queue: "queue/").request(StatusRequest(.status)).status {
///   for kind in status.kinds ?? [] { print(kind.kind, kind.use?.processorTime ?? 0) }
/// }
/// ```
///
/// Programs that a worker starts count when they have ended, but for their memory.
public struct ResourceUse: Codable, Equatable, Sendable {
  /// Seconds of processor time.
  public var processorTime = 0.0
  /// The most memory that a worker process had resident meanwhile, in bytes; nil where the kernel does not tell.
  public var peakMemory: Int?
  /// Bytes that were read from disks; nil where the kernel does not tell. What the page cache had does not count.
  public var bytesRead: Int?
  /// Bytes that were written to files, or soon will be; nil where the kernel does not tell.
  public var bytesWritten: Int?

  /// Nothing was used.
  public init() {}

  /// Adds what other jobs have used.
  package mutating func add(_ other: ResourceUse) {
    processorTime += other.processorTime
    if let peak = other.peakMemory { peakMemory = max(peakMemory ?? 0, peak) }
    if let bytes = other.bytesRead { bytesRead = (bytesRead ?? 0) + bytes }
    if let bytes = other.bytesWritten { bytesWritten = (bytesWritten ?? 0) + bytes }
  }

  /// A part of it. Memory is not shared out.
  package func share(_ part: Double) -> ResourceUse {
    var use = self
    use.processorTime *= part
    use.bytesRead = bytesRead.map { Int(Double($0) * part) }
    use.bytesWritten = bytesWritten.map { Int(Double($0) * part) }
    return use
  }

  /// The members as `workerpool jobs show JOB --json` shows them.
  package var json: JSONValue {
    var members = [JSONMember("processorTime", .number(processorTime))]
    for (name, value) in [("peakMemory", peakMemory), ("bytesRead", bytesRead), ("bytesWritten", bytesWritten)] {
      if let value { members.append(JSONMember(name, .number(value))) }
    }
    return .object(members)
  }

  /// For people: "1.2 s of processor time, 80 MiB at most, read 0 B, wrote 3 MiB".
  package var text: String {
    var parts = ["\(StatusText.shortTime(processorTime)) of processor time"]
    if let peakMemory { parts.append("\(StatusText.size(peakMemory)) at most") }
    if let bytesRead { parts.append("read \(StatusText.size(bytesRead))") }
    if let bytesWritten { parts.append("wrote \(StatusText.size(bytesWritten))") }
    return parts.joined(separator: ", ")
  }
}
