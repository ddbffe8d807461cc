import CoreData

/// The pool that runs on a store, or ran there last. By it the next pool finds what this one has left.
public struct PoolOwner: Hashable, Sendable {
  /// The process ID of the pool.
  public var pid: Int32
  /// The path of its queue directory, absolute.
  public var queue: String
  /// Its identity.
  public var pool: String
  /// The name of its ledger, in which it lists who holds which job.
  public var ledger: String

  /// A pool, and where it keeps its files.
  public init(pid: Int32, queue: String, pool: String, ledger: String) {
    self.pid = pid
    self.queue = queue
    self.pool = pool
    self.ledger = ledger
  }

  private static let settingName = "owner"

  /// Reads the owner; nil for a store on which no pool has run.
  public static func find(in context: NSManagedObjectContext) throws -> PoolOwner? {
    guard let text = try PoolSetting.find(settingName, in: context)?.value, let json = try? JSONParser.parse(text),
      let queue = json["queue"]?.stringValue, let pool = json["pool"]?.stringValue,
      let ledger = json["ledger"]?.stringValue
    else { return nil }
    return PoolOwner(pid: Int32(clamping: json["pid"]?.intValue ?? 0), queue: queue, pool: pool, ledger: ledger)
  }

  /// Makes it the owner, without saving.
  public func write(in context: NSManagedObjectContext) throws {
    let json = JSONValue.object([
      JSONMember("pid", .number(pid)), JSONMember("queue", .string(queue)), JSONMember("pool", .string(pool)),
      JSONMember("ledger", .string(ledger)),
    ])
    try PoolSetting.set(Self.settingName, json.text, in: context)
  }
}
