/// The changes of one save for one store, as values: the inserted, updated and deleted rows.
///
/// New rows have temporary keys, which are negative. The store assigns permanent ones and replaces the temporary keys
/// in all rows of the save.
struct RowChanges {
  /// The author of the save, for the store's history.
  var origin: ChangeOrigin
  /// The IDs that rows got before this save, by temporary key.
  var permanentIDs: [Int64: NSManagedObjectID] = [:]
  var inserted: [Insertion] = []
  var updated: [Update] = []
  var deleted: [Deletion] = []
  /// Rows that are not written but must be unchanged.
  var checked: [Check] = []

  struct Insertion {
    /// The temporary key, or a permanent one that the row got before.
    let key: Int64
    let values: Snapshot
    let members: [MemberChange]
  }

  struct Update {
    let storedEntity: StoredEntity
    let key: Int64
    /// The row as it was read; nil if it was never read and only members change.
    let base: Snapshot?
    /// The new row.
    let values: Snapshot?
    let members: [MemberChange]
  }

  struct Deletion {
    let storedEntity: StoredEntity
    let key: Int64
    /// Nil if the row was never read.
    let version: Int64?
  }

  struct Check {
    let storedEntity: StoredEntity
    let key: Int64
    let version: Int64?
  }

  /// One of the rows, by its index in its list.
  enum Place: Hashable {
    case inserted(Int)
    case updated(Int)
    case deleted(Int)
    case checked(Int)
  }
}

extension RowChanges.Place: Comparable {
  /// The order in which a save writes its rows.
  static func < (one: Self, other: Self) -> Bool { one.order < other.order }

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
struct MemberChange {
  let relationship: NSRelationshipDescription
  /// The keys of the added and removed members. Both are empty if the members' own to-one relationships tell them.
  var added: [Int64] = []
  var removed: [Int64] = []
  /// The keys in the new order; nil for no change.
  var order: [Int64]?
  /// Whether `order` has all members. If not, its keys come after those that the store has.
  var isWhole = true

  /// The permanent key of a member.
  ///
  /// - Parameter assigned: the permanent keys of the save's new rows.
  func permanentKey(_ member: Int64, _ assigned: (RelatedKey) -> RelatedKey?) throws -> Int64 {
    if member > 0 { return member }
    if let assigned = assigned(RelatedKey(key: member, number: 0)) { return assigned.key }
    throw CoreDataErrors.error(
      .persistentStoreSave,
      "\(relationship.owner?.name ?? "").\(relationship.name) has a new member that is not saved to the same store.")
  }
}

/// The author of a change, as persistent history records it.
struct ChangeOrigin {
  let author: String?
  let contextName: String?
}

// MARK: The store's answers

/// The store's answer to a save.
struct SavedRows {
  /// The permanent keys of the inserted rows, in order.
  var keys: [Int64] = []
  /// The versions of the updated rows, in order; 0 if the row was never read.
  var versions: [Int64] = []
  /// The versions of the inserted rows, in their order; empty where all are 1.
  var insertedVersions: [Int64] = []
  /// The permanent keys for temporary keys of this save.
  let assigned = AssignedKeys()
}

/// The error for rows that were changed or deleted since they were read. Nothing of the save was written.
///
/// `@unchecked Sendable`: rows are never written once they are read.
struct RowConflicts: Error, @unchecked Sendable {
  let store: NSPersistentStore
  let conflicts: [Conflict]

  struct Conflict {
    let place: RowChanges.Place
    /// The current row; nil if it is gone.
    let stored: Snapshot?
    /// The row in the store's cache.
    let cached: Snapshot?
  }
}

/// The error for rows whose unique values other rows have. Nothing of the save was written.
struct RejectedRows: Error {
  let store: NSPersistentStore
  let places: [RowChanges.Place]
  /// The store's sentence about the first of them.
  let message: String
}

/// A uniqueness constraint that rows of a save violate together.
struct ConstraintViolation {
  let names: [String]
  /// The save's rows with the same values, changed ones before new ones, without `stored`.
  let rivals: [RowChanges.Place]
  /// The stored row with the values; nil if only rows of the save conflict.
  let stored: (id: NSManagedObjectID, values: Snapshot?)?
}
