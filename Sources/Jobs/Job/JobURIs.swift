import CoreData
@_exported import ObjectIdentity

/// The key of a job in the pool's store: the identity of a job inside a process. Between processes a job is named by
/// its ``ObjectURI``.
public typealias JobKey = Int64

/// The URIs of the jobs of one pool's store. Inside a process a job is a number, which rows, ledgers and messages keep;
/// between processes, and for people, it is this URI.
///
/// ```swift
/// let uris = JobURIs(store: "4A80C15F-1EAD-460D-B520-B493E705107F")
/// print(uris[17])  // x-coredata://4A80C15F-1EAD-460D-B520-B493E705107F/PoolJob/p17
/// print(uris.key("x-coredata://4A80C15F-1EAD-460D-B520-B493E705107F/PoolJob/p17") ?? 0)  // 17
/// print(uris.key("x-coredata://OTHER/PoolJob/p17") as Any)  // nil
/// ```
public struct JobURIs: Hashable, Sendable {
  /// The identifier of the pool's store.
  public let store: String

  /// The URIs of the jobs in the store with this identifier.
  public init(store: String) { self.store = store }

  /// The URI of the job with that key.
  public subscript(key: JobKey) -> ObjectURI { ObjectURI(store: store, entity: PoolJob.entityName, key: key) }

  /// The beginning of the URIs; their keys follow. With it an answer about 100,000 jobs is a list of numbers.
  public var prefix: String { String(self[1].description.dropLast()) }

  /// Reads what ``prefix`` wrote.
  public init?(prefix: String) {
    guard let first = ObjectURI(prefix + "1") else { return nil }
    self.init(store: first.store)
  }

  /// The URIs of some jobs as texts, in their order.
  public func texts(_ keys: some Sequence<JobKey>) -> [String] { keys.map { self[$0].description } }

  /// The key of a job; nil for the URI of anything else.
  public func key(_ uri: ObjectURI) -> JobKey? {
    uri.store == store && uri.entity == PoolJob.entityName ? uri.key : nil
  }

  /// The key in the URI of a job; nil for all other texts.
  public func key(_ text: String) -> JobKey? { ObjectURI(text).flatMap(key) }
}

extension NSManagedObjectID {
  /// The number in a saved object's URI: `42` in `…/PoolJob/p42`; nil for objects that are not saved.
  public var key: Int64? { rowKey }
}
