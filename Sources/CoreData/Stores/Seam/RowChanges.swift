/// The changes of one save for one store, as values: the inserted, updated and deleted rows.
///
/// New rows have temporary keys, which are negative. The store assigns permanent ones and replaces the temporary keys
/// in all rows of the save.
///
/// A new author with a new book, and another book that changes its pages:
///
/// ```text
/// inserted   key -1   (name: Butler)                              members: none, the book's own slot tells
///            key -2   (author: key -1, title: Kindred, …)
/// updated    key 7    base: version 3, pages 341                  values: pages 342
/// ```
///
/// `base` is what the context has read. The store compares its version with the row's, and its values with the new ones
/// to find what changed.
package struct RowChanges {
  /// The author of the save, for the store's history.
  package var origin: ChangeOrigin
  /// The IDs that rows got before this save, by temporary key.
  package var permanentIDs: [Int64: NSManagedObjectID] = [:]
  package var inserted: [Insertion] = []
  package var updated: [Update] = []
  package var deleted: [Deletion] = []
  /// Rows that are not written but must be unchanged.
  package var checked: [Check] = []

  package struct Insertion {
    /// The temporary key, or a permanent one that the row got before.
    package let key: Int64
    package let values: Snapshot
    package let members: [MemberChange]
  }

  package struct Update {
    package let storedEntity: StoredEntity
    package let key: Int64
    /// The row as it was read; nil if it was never read and only members change.
    package let base: Snapshot?
    /// The new row.
    package let values: Snapshot?
    package let members: [MemberChange]
  }

  package struct Deletion: KeyedRow {
    package let storedEntity: StoredEntity
    package let key: Int64
    /// Nil if the row was never read.
    package let version: Int64?
  }

  package struct Check: KeyedRow {
    package let storedEntity: StoredEntity
    package let key: Int64
    package let version: Int64?
    /// Whether any version is right, as long as the row is there.
    package let mayHaveChanged: Bool

    /// Whether the row is right with the version that the store has; nil for a row that is not there.
    package func accepts(_ stored: Int64?) -> Bool {
      // The row may have gone before the object's values were read: then `version` is nil, too.
      guard let stored else { return false }
      return mayHaveChanged || stored == version
    }
  }

  /// One of the rows, by its index in its list.
  package enum Place: Hashable {
    case inserted(Int)
    case updated(Int)
    case deleted(Int)
    case checked(Int)
  }
}

/// A row of which only the key is known to the save: one that is deleted or checked.
package protocol KeyedRow {
  var storedEntity: StoredEntity { get }
  var key: Int64 { get }
}

extension RowChanges.Place: Comparable {
  /// The order in which a save writes its rows.
  package static func < (one: Self, other: Self) -> Bool { one.order < other.order }

  private var order: (Int, Int) {
    switch self {
    case .checked(let index): (0, index)
    case .deleted(let index): (1, index)
    case .updated(let index): (2, index)
    case .inserted(let index): (3, index)
    }
  }
}

/// The changes of a to-many relationship of a row.
///
/// ```text
/// author.books gets the book 9                   nothing: the book's row has its author
///   ordered                                      order [4, 7, 9]
///   ordered, the author's books were not read    order [9], isWhole false: it comes last
/// author.books, many-to-many, gets 9, loses 4    added [9], removed [4]
/// ```
package struct MemberChange {
  package let relationship: NSRelationshipDescription
  /// The keys of the added and removed members. Both are empty if the members' own to-one relationships tell them.
  package var added: [Int64] = []
  package var removed: [Int64] = []
  /// The keys in the new order; nil for no change.
  package var order: [Int64]?
  /// Whether `order` has all members. If not, its keys come after those that the store has.
  package var isWhole = true

  /// The permanent key of a member.
  ///
  /// - Parameter assigned: the permanent keys of the save's new rows.
  package func permanentKey(_ member: Int64, _ assigned: (RelatedKey) -> RelatedKey?) throws -> Int64 {
    if member > 0 { return member }
    if let assigned = assigned(RelatedKey(key: member, number: 0)) { return assigned.key }
    throw CoreDataErrors.error(
      .persistentStoreSave,
      "\(relationship.owner?.name ?? "").\(relationship.name) has a new member that is not saved to the same store.")
  }
}

/// The author of a change, as persistent history records it.
package struct ChangeOrigin {
  package let author: String?
  package let contextName: String?
  /// Whether the author's name goes with the transaction: it is in no other one, or in few.
  var authorPasses = false
}

// MARK: The store's answers

/// The store's answer to a save.
///
/// The context gives its objects these keys and versions; the row cache gets their rows.
package struct SavedRows {
  /// The permanent keys of the inserted rows, in order.
  package var keys: [Int64] = []
  /// The versions of the updated rows, in order; 0 if the row was never read.
  package var versions: [Int64] = []
  /// The versions of the inserted rows, in their order; empty where all are 1.
  var insertedVersions: [Int64] = []
  /// The permanent keys for temporary keys of this save.
  package let assigned = AssignedKeys()

  package init() {}
}

/// The error for rows that were changed or deleted since they were read. Nothing of the save was written.
///
/// `@unchecked Sendable`: rows are never written once they are read.
///
/// `base` (in the changes), `stored` and `cached` are the three rows that an `NSMergeConflict` shows: what was read,
/// what is there, what the coordinator has.
package struct RowConflicts: Error, @unchecked Sendable {
  let store: NSPersistentStore
  let conflicts: [Conflict]

  package init(store: NSPersistentStore, conflicts: [Conflict]) {
    self.store = store
    self.conflicts = conflicts
  }

  package struct Conflict {
    package let place: RowChanges.Place
    /// The current row; nil if it is gone.
    let stored: Snapshot?
    /// The row in the store's cache.
    let cached: Snapshot?

    package init(place: RowChanges.Place, stored: Snapshot?, cached: Snapshot?) {
      self.place = place
      self.stored = stored
      self.cached = cached
    }
  }
}

/// The error for rows whose unique values other rows have. Nothing of the save was written.
package struct RejectedRows: Error {
  let store: NSPersistentStore
  let places: [RowChanges.Place]
  /// The store's sentence about the first of them.
  let message: String

  package init(store: NSPersistentStore, places: [RowChanges.Place], message: String) {
    self.store = store
    self.places = places
    self.message = message
  }
}

/// A uniqueness constraint that rows of a save violate together.
package struct ConstraintViolation {
  let names: [String]
  /// The save's rows with the same values, changed ones before new ones, without `stored`.
  let rivals: [RowChanges.Place]
  /// The stored row with the values; nil if only rows of the save conflict.
  let stored: (id: NSManagedObjectID, values: Snapshot?)?

  package init(names: [String], rivals: [RowChanges.Place], stored: (id: NSManagedObjectID, values: Snapshot?)?) {
    self.names = names
    self.rivals = rivals
    self.stored = stored
  }
}
