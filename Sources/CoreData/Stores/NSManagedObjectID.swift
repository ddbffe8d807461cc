internal import Synchronization

/// The identity of a managed object: its store, entity and key. The only thing that may cross a queue or a process.
///
/// A permanent ID is written `x-coredata://STORE-UUID/ENTITY/pKEY`. An object that was never saved has a temporary one, written
/// `x-coredata:///ENTITY/tUUID…`, which the save replaces. IDs compare by value within one coordinator.
///
/// `@unchecked Sendable`: immutable.
public final class NSManagedObjectID: NSObject, NSCopying, @unchecked Sendable {
  let home: EntityHome
  /// `Z_PK`; negative for a temporary ID.
  let key: Int64

  init(home: EntityHome, key: Int64) {
    self.home = home
    self.key = key
    super.init()
  }

  /// The key for a new temporary ID, unlike any other of this process.
  static func nextTemporaryKey() -> Int64 { -temporaryCounter.add(1, ordering: .relaxed).newValue }

  private static let temporaryCounter = Atomic<Int64>(0)
  private static let processIdentifier = UUID().uuidString

  /// The entity of the object itself, also where it was fetched through a parent entity.
  public var entity: NSEntityDescription { home.entity }

  /// The store that holds the object; nil for a temporary ID, and when the store has been removed.
  public var persistentStore: NSPersistentStore? { objectStore }

  var objectStore: (any ObjectStore)? { home.storeReference?.store }

  /// True until the object's first save, or until `obtainPermanentIDs(for:)`.
  public var isTemporaryID: Bool { key < 0 }

  /// The ID as a URI, which names the same object in another process and after a restart, if it is permanent.
  public func uriRepresentation() -> URL {
    // The parts hold no character that a URL would refuse: UUIDs, digits, and entity names, which are identifiers.
    URL(string: uriString)!
  }

  /// The text of `uriRepresentation()`, without the cost of a URL.
  public var uriString: String {
    guard let reference = home.storeReference, key >= 0 else {
      return "\(NSManagedObjectID.temporaryPrefix)\(home.layout.name)/t\(NSManagedObjectID.processIdentifier)\(-key)"
    }
    return "x-coredata://\(reference.identifier)/\(home.layout.name)/p\(key)"
  }

  /// What the URI of a temporary ID begins with: it names no store.
  private static let temporaryPrefix = "x-coredata:///"

  /// Whether a URI is that of a temporary ID, of any process.
  package static func isTemporary(uri: String) -> Bool { uri.hasPrefix(temporaryPrefix) }

  /// The key in the URI of a temporary ID of this process; nil for all other texts.
  static func temporaryKey(uri: String) -> Int64? {
    guard isTemporary(uri: uri), let name = uri.split(separator: "/").last,
      name.hasPrefix("t\(processIdentifier)"), let number = Int64(name.dropFirst(processIdentifier.utf8.count + 1)),
      number > 0
    else { return nil }
    return -number
  }

  var relatedKey: RelatedKey { RelatedKey(key: key, number: Int64(home.number)) }

  public func copy(with zone: NSZone? = nil) -> Any { self }

  public override var hash: Int { Int(truncatingIfNeeded: key) ^ (Int(home.table) << 40) }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSManagedObjectID else { return false }
    return self === other || (key == other.key && home.table == other.home.table)
  }

  public override var description: String { "<\(uriString)>" }
}

extension NSManagedObjectID: NSFetchRequestResult {}

/// The parts of an object ID's URI.
struct ObjectURI {
  let storeIdentifier: String
  let entityName: String
  let key: Int64

  /// nil unless the URI is that of a permanent ID.
  init?(_ uri: URL) { self.init(uri.absoluteString) }

  init?(_ text: String) {
    let scheme = "x-coredata://"
    guard text.hasPrefix(scheme) else { return nil }
    let parts = text.dropFirst(scheme.count).split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 3, !parts[0].isEmpty, parts[2].hasPrefix("p"), let key = Int64(parts[2].dropFirst()), key > 0
    else { return nil }
    storeIdentifier = String(parts[0])
    entityName = String(parts[1])
    self.key = key
  }
}
