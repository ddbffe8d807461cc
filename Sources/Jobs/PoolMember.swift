import CoreData

/// A pool among those that share a store at a server.
///
/// Each pool has a row from its start on, and a session lock at the server whose key is its identity. The row counts
/// until ``goneAt``: the pool itself writes it when it stops; another pool writes it when the server has released the
/// lock. Rows exist only in stores at a server, and so does the attribute of jobs that names the pool which may hand
/// them out: the model of SQLite stores stays as it is.
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

  /// A pool that comes now.
  public init(host: String, pid: Int32, queue: String) {
    identity = .random(in: 1 ... .max)
    self.host = host
    self.pid = pid
    self.queue = queue
    startedAt = Date()
  }

  init?(_ row: NSManagedObject) {
    guard let identity = (row.value(forKey: "identity") as? NSNumber)?.int64Value,
      let host = row.value(forKey: "host") as? String,
      let queue = row.value(forKey: "queue") as? String, let startedAt = row.value(forKey: "startedAt") as? Date
    else { return nil }
    self.identity = identity
    self.host = host
    self.queue = queue
    self.startedAt = startedAt
    pid = Int32(clamping: (row.value(forKey: "pid") as? NSNumber)?.int64Value ?? 0)
    goneAt = row.value(forKey: "goneAt") as? Date
  }

  func write(to row: NSManagedObject) {
    row.setValue(identity, forKey: "identity")
    row.setValue(host, forKey: "host")
    row.setValue(Int64(pid), forKey: "pid")
    row.setValue(queue, forKey: "queue")
    row.setValue(startedAt, forKey: "startedAt")
    row.setValue(goneAt, forKey: "goneAt")
  }

  // MARK: The model

  /// The name of the entity.
  public static let entityName = "PoolMember"
  /// The attribute of an unfinished job that has the identity of the pool which may hand it out.
  public static let claimant = "claimant"
  /// The attribute of a job that counts the pools which have died in a row while they had claimed it.
  public static let hostDeaths = "hostDeaths"
}

extension PoolJob {
  /// The identity of the pool that may hand the job out; nil for none, for a finished job, and in a SQLite file.
  public var claimant: Int64? {
    guard entity.attributesByName[PoolMember.claimant] != nil else { return nil }
    return (value(forKey: PoolMember.claimant) as? NSNumber)?.int64Value
  }

  /// How many pools have died in a row while they had claimed the job; 0 in a SQLite file.
  public var hostDeaths: Int {
    guard entity.attributesByName[PoolMember.hostDeaths] != nil else { return 0 }
    return (value(forKey: PoolMember.hostDeaths) as? NSNumber)?.intValue ?? 0
  }

  /// Lets any pool claim the job when it is available the next time. Does nothing in a SQLite file.
  func dropClaim() {
    if claimant != nil { setValue(nil, forKey: PoolMember.claimant) }
  }

  /// An attempt has ended with its host alive. Does nothing in a SQLite file.
  func forgetHostDeaths() {
    if hostDeaths > 0 { setValue(0, forKey: PoolMember.hostDeaths) }
  }
}
