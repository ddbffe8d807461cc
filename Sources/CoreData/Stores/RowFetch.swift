/// The rows that a fetch wants, in its order.
struct RowFetch {
  var entityName: String
  var includesSubentities = true
  var predicate: NSPredicate?
  var sortDescriptors: [NSSortDescriptor] = []
  var limit = 0
  var offset = 0
  /// Whether the rows' values are wanted, or their keys alone.
  var includesValues = true
  /// The properties whose values are wanted; nil for all.
  var properties: Set<String>?
  /// Which state of the store to read; nil for the newest.
  var generation: QueryGeneration?
  /// Stops and counts an asynchronous fetch.
  var control: FetchControl?
}

extension RowFetch {
  init(_ settings: FetchSettings, of entity: NSEntityDescription) {
    self.init(
      entityName: entity.name ?? "", includesSubentities: settings.includesSubentities, predicate: settings.predicate,
      sortDescriptors: settings.sortDescriptors ?? [], limit: settings.fetchLimit, offset: settings.fetchOffset)
  }
}

/// Which history of a store to read.
struct HistoryQuery {
  /// Transactions after this place.
  let place: NSPersistentHistoryChangeRequest.Place
  /// Whether transactions get their changes, or stay without.
  let includesChanges: Bool
  /// Whether changes come without their transactions, and so have to hold them.
  let changesAreAlone: Bool
}

/// New rows of one entity for a batch insertion, made one by one.
struct BatchRows {
  /// What becomes of a row with unique values that are there already.
  enum OnDuplicate {
    case fail, skip, update
  }

  let entityName: String
  let onDuplicate: OnDuplicate
  let keepsIDs: Bool
  /// Fills a row, which has the default values, and marks the slots that it names; false where there are no more rows.
  let next: (_ row: Snapshot, _ named: inout [Bool]) throws -> Bool
}
