import CoreData

/// A job file whose jobs are in the store: kept until the file is gone, so that a crash between the two makes no second copy.
public final class TakenFile: NSManagedObject {
  public static let entityName = "PoolFile"

  /// The file's name in `taken/`, unique for ever.
  public var name: String {
    get { string("name") ?? "" }
    set { setValue(newValue, forKey: "name") }
  }

  /// What an earlier version of the pool noted instead; `name` is the producer's name then.
  var earlierIdentity: EarlierFileIdentity? {
    guard let inode = number("inode"), let modified = number("modified"), let size = number("size") else { return nil }
    return EarlierFileIdentity(inode: inode.int64Value, modified: modified.int64Value, size: size.int64Value)
  }

  public class func fetchRequest() -> NSFetchRequest<TakenFile> { NSFetchRequest<TakenFile>(entityName: entityName) }
}

/// How earlier versions of the pool, which took files where they lay, told one from every other.
public struct EarlierFileIdentity: Hashable, Sendable {
  public let inode: Int64
  /// Nanoseconds since 1970.
  public let modified: Int64
  /// Bytes.
  public let size: Int64
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
