import CoreData

/// A pool among those that share a store at a server.
///
/// ```swift
/// let store = try JobStore(url: url, model: model)
/// for member in try store.members(in: context) { print(member.host, member.pid, member.queue) }
/// ```
///
/// Each pool has a row from its start on, and a session lock at the server whose key is its identity. The row counts
/// until ``goneAt``: the pool itself writes it when it stops; another pool writes it when the server has released the
/// lock. Rows exist only in stores at a server.
///
/// A pool that starts again has another identity: what the former one had claimed must not count as its own.
public struct PoolMember: Hashable, Sendable {
  /// The pool's identity, for one run of it: a random number, the key of its lock.
  public var identity: Int64
  /// The name of its host.
  public var host: String
  /// Its process ID there.
  public var pid: Int32
  /// The path of its queue directory there, absolute.
  public var queue: String
  /// When it came.
  public var startedAt: Date
  /// When it stopped or was found dead; nil for a pool that lives.
  public var goneAt: Date?

  /// A pool that starts now, with a random identity.
  public init(host: String, pid: Int32, queue: String) {
    identity = .random(in: 1 ... .max)
    self.host = host
    self.pid = pid
    self.queue = queue
    startedAt = Date()
  }

  init(_ row: PoolMemberRow) {
    identity = row.identity
    host = row.host
    pid = Int32(clamping: row.pid)
    queue = row.queue
    startedAt = row.startedAt
    goneAt = row.goneAt
  }

  func write(to row: PoolMemberRow) {
    row.identity = identity
    row.host = host
    row.pid = Int64(pid)
    row.queue = queue
    row.startedAt = startedAt
    row.goneAt = goneAt
  }

  /// The name of the entity.
  public static let entityName = "PoolMember"

  /// The pools of a store at a server, with those that are gone and not forgotten.
  package static func all(in context: NSManagedObjectContext) throws -> [PoolMember] {
    try context.fetch(PoolMemberRow.fetchRequest()).map(PoolMember.init)
  }
}
