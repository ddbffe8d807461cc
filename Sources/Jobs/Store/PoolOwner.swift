import CoreData
import WorkerProtocol

/// The pool that runs on a store, or ran there last. By it the next pool finds what this one has left.
///
/// ```text
/// setting "owner"         {"pid":4711,"queue":"/srv/queue","pool":"…","ledger":"…","version":"0.10.0","tables":4}
/// setting "owner POOL"    the same with "member", for each of the pools that share a store at a server
/// ```
///
/// It says where the ledger is, and not that the pool lives: that is decided by the process, its lock and its boot.
public struct PoolOwner: Hashable, Sendable {
  /// The process ID of the pool.
  public var pid: Int32
  /// The path of its queue directory, absolute.
  public var queue: String
  /// Its identity.
  public var pool: String
  /// The name of its ledger, in which it lists who holds which job.
  public var ledger: String
  /// Among pools that share a store the identity of its ``PoolMember``: when that is forgotten, so is the owner.
  public var member: Int64?
  /// The version of workerpool that the pool is of, as `workerpool --version` prints it; nil for pools that did not
  /// tell.
  public var version: String?
  /// The newest version of the pool's tables that the pool understands; nil for pools that did not tell.
  public var tables: Int?

  /// A pool, and where it keeps its files.
  ///
  /// - Parameters:
  ///   - version: that of workerpool; by default this program's.
  ///   - tables: the newest version of the pool's tables that the pool understands; by default this program's.
  public init(
    pid: Int32, queue: String, pool: String, ledger: String, member: Int64? = nil, version: String? = Release.text,
    tables: Int? = JobModel.tablesVersion
  ) {
    self.pid = pid
    self.queue = queue
    self.pool = pool
    self.ledger = ledger
    self.member = member
    self.version = version
    self.tables = tables
  }

  /// The name of the setting; in a store that several pools share, each has its own.
  static func settingName(_ pool: String?) -> String { pool.map { "owner \($0)" } ?? "owner" }

  /// Reads the owner; nil for a store on which no pool has run.
  ///
  /// ```swift
  /// if let owner = try PoolOwner.find(in: context) { print(owner.pid, owner.queue, owner.version ?? "") }
  /// ```
  ///
  /// - Parameter pool: the identity of one of the pools that share the store; nil in a store with one pool.
  public static func find(_ pool: String? = nil, in context: NSManagedObjectContext) throws -> PoolOwner? {
    try PoolSetting.find(settingName(pool), in: context).flatMap(PoolOwner.init)
  }

  /// The owners of the store: one, or each pool that has shared it and is not forgotten yet.
  public static func all(in context: NSManagedObjectContext) throws -> [PoolOwner] {
    let request = PoolSetting.fetchRequest()
    request.predicate = NSPredicate(format: "name BEGINSWITH %@", settingName(nil))
    return try context.fetch(request).compactMap(PoolOwner.init)
  }

  init?(_ setting: PoolSetting) {
    // A later version may write another form. The owner is not known then.
    guard let text = setting.value, let json = try? JSONParser.parse(text),
      let queue = json["queue"]?.stringValue, let pool = json["pool"]?.stringValue,
      let ledger = json["ledger"]?.stringValue
    else { return nil }
    self.init(
      pid: Int32(clamping: json["pid"]?.intValue ?? 0), queue: queue, pool: pool, ledger: ledger,
      member: json["member"]?.stringValue.flatMap { Int64($0) },
      version: json["version"]?.stringValue, tables: json["tables"]?.intValue)
  }

  /// Makes it the owner, or one of those that share the store, without saving.
  public func write(isShared: Bool = false, in context: NSManagedObjectContext) throws {
    let json = JSONValue.object(
      [
        JSONMember("pid", .number(pid)), JSONMember("queue", .string(queue)), JSONMember("pool", .string(pool)),
        JSONMember("ledger", .string(ledger)),
        member.map { JSONMember("member", .string("\($0)")) },
        version.map { JSONMember("version", .string($0)) },
        tables.map { JSONMember("tables", .number($0)) },
      ].compactMap(\.self))
    try PoolSetting.set(Self.settingName(isShared ? pool : nil), json.text, in: context)
  }

  /// Deletes the owners whose pools are forgotten, without saving. A pool that begins in such a queue directory later
  /// begins like a new one.
  ///
  /// - Parameter members: the identities of the pools that are not forgotten.
  static func forget(besides members: Set<Int64>, in context: NSManagedObjectContext) throws {
    let request = PoolSetting.fetchRequest()
    request.predicate = NSPredicate(format: "name BEGINSWITH %@", settingName(""))
    for setting in try context.fetch(request) {
      guard let member = PoolOwner(setting)?.member, !members.contains(member) else { continue }
      context.delete(setting)
    }
  }
}
