/// What one save writes into one store, as values: the rows that come, change and go.
///
/// New rows have temporary keys, which are negative. The store gives them permanent ones, and puts these wherever a row of the
/// same save refers to a temporary key.
struct RowChanges {
  /// Who saves, for the store's history.
  var origin: ChangeOrigin
  /// The IDs that rows got before this save, by their temporary keys.
  var permanentIDs: [Int64: NSManagedObjectID] = [:]
  var inserted: [Insertion] = []
  var updated: [Update] = []
  var deleted: [Deletion] = []
  /// Rows that are not written, but must still be as they were read.
  var checked: [Check] = []

  struct Insertion {
    /// Temporary, or the permanent one that the row got before.
    let key: Int64
    let values: Snapshot
    let members: [MemberChange]
  }

  struct Update {
    let home: EntityHome
    let key: Int64
    /// The row as it was read; nil where it was never read, and only members change.
    let base: Snapshot?
    /// The row as it becomes.
    let values: Snapshot?
    let members: [MemberChange]
  }

  struct Deletion {
    let home: EntityHome
    let key: Int64
    /// nil where the row was never read.
    let version: Int64?
  }

  struct Check {
    let home: EntityHome
    let key: Int64
    let version: Int64?
  }

  /// One of the rows, by its place in its list.
  enum Place: Hashable {
    case inserted(Int)
    case updated(Int)
    case deleted(Int)
    case checked(Int)
  }
}

/// What changed in a to-many relationship of a row.
struct MemberChange {
  let relationship: NSRelationshipDescription
  /// The keys of the members that came and went; both empty where the members' own to-one relationships say so.
  var added: [Int64] = []
  var removed: [Int64] = []
  /// The keys in their new order; nil where the order stays.
  var order: [Int64]?
  /// Whether `order` has all members. If not, its keys come behind those that the store has.
  var isWhole = true
}

/// Who changes something: what persistent history keeps of it.
struct ChangeOrigin {
  let author: String?
  let contextName: String?
}

// MARK: What the store answers

/// What a store made of a save's rows.
struct SavedRows {
  /// The permanent keys of the inserted rows, in their order.
  var keys: [Int64] = []
  /// The versions of the updated rows, in their order; 0 where the row was never read.
  var versions: [Int64] = []
  /// The versions of the inserted rows, in their order; empty where all are 1.
  var insertedVersions: [Int64] = []
  /// What temporary keys of this save became.
  var assigned: [Int64: RelatedKey] = [:]
}

/// Rows that were changed or deleted since they were read. Nothing of the save was written.
///
/// `@unchecked Sendable`: rows are never written once they are read.
struct RowConflicts: Error, @unchecked Sendable {
  let store: NSPersistentStore
  let conflicts: [Conflict]

  struct Conflict {
    let place: RowChanges.Place
    /// The row as it is now; nil where it is gone.
    let stored: Snapshot?
    /// The row as the store's cache has it.
    let cached: Snapshot?
  }
}

/// Rows whose unique values other rows have. Nothing of the save was written.
struct RejectedRows: Error {
  let store: NSPersistentStore
  let places: [RowChanges.Place]
  /// What the store says of the first.
  let message: String
}

/// One uniqueness constraint that rows of a save violate together.
struct ConstraintViolation {
  let names: [String]
  /// The save's rows with the same values, without `stored`: changed ones first, then new ones.
  let rivals: [RowChanges.Place]
  /// The row that has the values already; nil where the save's rows are in conflict among themselves.
  let stored: (id: NSManagedObjectID, values: Snapshot?)?
}
