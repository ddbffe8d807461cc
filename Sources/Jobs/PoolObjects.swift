import CoreData

/// Who runs a job: written behind, in groups, for `status` and to count crashes. Correctness never depends on it.
public final class JobClaim: NSManagedObject {
  public static let entityName = "PoolClaim"

  /// The key of the job: the number in its URI.
  public var job: Int64 {
    get { number("job")?.int64Value ?? 0 }
    set { setValue(NSNumber(value: newValue), forKey: "job") }
  }

  public var pid: Int32 {
    get { number("pid")?.int32Value ?? 0 }
    set { setValue(NSNumber(value: newValue), forKey: "pid") }
  }

  /// When the process started, in clock ticks since boot: tells it from a later process of the same pid.
  ///
  /// Source: proc(5), field 22 of `/proc/PID/stat`.
  public var processStart: Int64 {
    get { number("processStart")?.int64Value ?? 0 }
    set { setValue(NSNumber(value: newValue), forKey: "processStart") }
  }

  public var since: Date {
    get { date("since") ?? .distantPast }
    set { setValue(newValue, forKey: "since") }
  }

  public class func fetchRequest() -> NSFetchRequest<JobClaim> { NSFetchRequest<JobClaim>(entityName: entityName) }
}

/// A job file whose jobs are in the store: kept until the file is gone, so that a crash between the two makes no second copy.
public final class TakenFile: NSManagedObject {
  public static let entityName = "PoolFile"

  public var identity: FileIdentity {
    get {
      FileIdentity(
        name: string("name") ?? "", device: number("device")?.int64Value ?? 0,
        inode: number("inode")?.int64Value ?? 0, modified: number("modified")?.int64Value ?? 0,
        size: number("size")?.int64Value ?? 0)
    }
    set {
      setValue(newValue.name, forKey: "name")
      setValue(NSNumber(value: newValue.device), forKey: "device")
      setValue(NSNumber(value: newValue.inode), forKey: "inode")
      setValue(NSNumber(value: newValue.modified), forKey: "modified")
      setValue(NSNumber(value: newValue.size), forKey: "size")
    }
  }

  public class func fetchRequest() -> NSFetchRequest<TakenFile> { NSFetchRequest<TakenFile>(entityName: entityName) }
}

/// What tells one file from every other, and from itself after a change.
public struct FileIdentity: Hashable, Sendable {
  /// The last component of the path. An inode is soon used again, often within one tick of the clock of `modified`.
  public var name: String
  public var device: Int64
  public var inode: Int64
  /// Nanoseconds since 1970.
  public var modified: Int64
  /// Bytes.
  public var size: Int64

  public init(name: String, device: Int64, inode: Int64, modified: Int64, size: Int64) {
    self.name = name
    self.device = device
    self.inode = inode
    self.modified = modified
    self.size = size
  }
}

/// A setting of the pool that outlives its processes, by name.
public final class PoolSetting: NSManagedObject {
  public static let entityName = "PoolSetting"

  public var name: String {
    get { string("name") ?? "" }
    set { setValue(newValue, forKey: "name") }
  }

  public var value: String? {
    get { string("value") }
    set { setValue(newValue, forKey: "value") }
  }

  public class func fetchRequest() -> NSFetchRequest<PoolSetting> {
    NSFetchRequest<PoolSetting>(entityName: entityName)
  }
}

/// That a job waits for another one: of all that it waits for, one that is not done. When that one ends, the next is looked for.
///
/// Written by the coordinator only. One row for each blocked job, however many jobs it waits for.
public final class JobWait: NSManagedObject {
  public static let entityName = "PoolWait"

  /// The key of the job that waits.
  public var job: Int64 {
    get { number("job")?.int64Value ?? 0 }
    set { setValue(NSNumber(value: newValue), forKey: "job") }
  }

  /// The key of the job that it waits for.
  public var blocker: Int64 {
    get { number("blocker")?.int64Value ?? 0 }
    set { setValue(NSNumber(value: newValue), forKey: "blocker") }
  }

  public class func fetchRequest() -> NSFetchRequest<JobWait> { NSFetchRequest<JobWait>(entityName: entityName) }
}

/// How far a periodic entry has come: written in the save that submits its job, so that each of its times has one job at most.
public final class PeriodicMark: NSManagedObject {
  public static let entityName = "PoolPeriodic"

  /// The entry's name: that of its file.
  public var name: String {
    get { string("name") ?? "" }
    set { setValue(newValue, forKey: "name") }
  }

  /// The entry's expression and time zone: a changed entry begins anew.
  public var definition: String {
    get { string("definition") ?? "" }
    set { setValue(newValue, forKey: "definition") }
  }

  /// The last of its times that is settled; when the entry is new, the moment at which it was first seen.
  public var last: Date {
    get { date("last") ?? .distantPast }
    set { setValue(newValue, forKey: "last") }
  }

  public class func fetchRequest() -> NSFetchRequest<PeriodicMark> {
    NSFetchRequest<PeriodicMark>(entityName: entityName)
  }
}
