internal import Synchronization

/// An entity in one store, to which an object's ID refers besides its key.
///
/// `@unchecked Sendable`: immutable after `init`. `collection` is only followed while its store's coordinator lives,
/// which keeps it.
///
/// One for each entity and open store, made when the store is opened. An object's identity is (table, key): two
/// subentities of one hierarchy share the table, so an ID that was made as `Book` equals the same row's ID as `Novel`.
@usableFromInline
package final class StoredEntity: @unchecked Sendable {
  package let layout: EntityLayout
  /// The layout's entity, kept here because each object that is made asks for it.
  let entity: NSEntityDescription
  /// The same, for uses that neither retain nor release it.
  let uncountedEntity: Unmanaged<NSEntityDescription>
  /// The entity's number in the store (`Z_ENT`); 0 for unsaved objects.
  package let number: Int
  /// Identifies the table of the root entity in this store, across the stores of the process.
  package let table: Int32
  /// The store's part of URIs; nil for unsaved objects.
  let storeReference: StoreReference?
  /// The entities of the same store; nil for unsaved objects.
  unowned(unsafe) let collection: StoredEntities?
  /// Whether the store is told which of its objects contexts have.
  let isFollowed: Bool

  static let temporaryTable: Int32 = 0
  private static let lastTable = Atomic<Int32>(0)
  static func newTable() -> Int32 { lastTable.add(1, ordering: .relaxed).newValue }

  init(layout: EntityLayout, collection: StoredEntities?, number: Int, table: Int32) {
    self.layout = layout
    entity = layout.entity
    uncountedEntity = .passUnretained(entity)
    self.collection = collection
    self.number = number
    self.table = table
    self.storeReference = collection?.reference
    self.isFollowed = collection?.isFollowed ?? false
  }
}

/// The entities of one store, by entity number.
///
/// `@unchecked Sendable`: filled while the store is opened, before anything else uses it.
package final class StoredEntities: @unchecked Sendable {
  let reference: StoreReference
  /// Whether the store is told which of its objects contexts have.
  let isFollowed: Bool
  package private(set) var byNumber: [StoredEntity?] = [nil]
  package private(set) var byName: [String: StoredEntity] = [:]

  init(reference: StoreReference, isFollowed: Bool = false) {
    self.reference = reference
    self.isFollowed = isFollowed
  }

  /// Nil for a number that the model does not have: a row may be of an entity that another program has added.
  package subscript(number: Int) -> StoredEntity? { byNumber.indices.contains(number) ? byNumber[number] : nil }

  /// What depends on changed rows; nil if no entity has a derived attribute. Made by the first question, when all
  /// entities have been added.
  var derivedDependents: DerivedDependents? {
    guard hasDerived else { return nil }
    return derived.withLock { derived in
      if let derived { return derived }
      let made = DerivedDependents(self)
      derived = made
      return made
    }
  }

  private var hasDerived = false
  private let derived = Mutex<DerivedDependents?>(nil)

  func add(_ entity: StoredEntity) {
    if entity.layout.hasDerived { hasDerived = true }
    while byNumber.count <= entity.number { byNumber.append(nil) }
    byNumber[entity.number] = entity
    byName[entity.layout.name] = entity
  }
}

/// The part of a store that outlives it in object IDs: its identifier.
///
/// `@unchecked Sendable`: `store` is set when the store is opened and cleared when it is removed, under the
/// coordinator's lock; reading a weak reference is atomic.
///
/// IDs outlive their store: after its removal an ID still has its URI, and `store` is nil.
package final class StoreReference: @unchecked Sendable {
  let identifier: String
  /// The names of keys in URIs, for a store that knows its objects by references of its own.
  let names: (any KeyNames)?
  package weak var store: (any ObjectStore)?

  package init(identifier: String, names: (any KeyNames)? = nil) {
    self.identifier = identifier
    self.names = names
  }
}

/// The names of a store's keys in URIs.
package protocol KeyNames: AnyObject, Sendable {
  /// The last part of the URI.
  func name(_ key: Int64) -> String

  /// The key of an object of the entity; nil for a name that no object of the store can have.
  func key(name: Substring, _ number: Int) -> Int64?
}
