/// The parameters of a fetch of rows, as a store sees it.
struct RowFetch {
  var entityName: String
  var includesSubentities = true
  var predicate: NSPredicate?
  var sortDescriptors: [NSSortDescriptor] = []
  var limit = 0
  var offset = 0
  /// Whether the rows' values are read, or only their keys.
  var includesValues = true
  /// The properties to read; nil for all.
  var properties: Set<String>?
  /// The state of the store to read; nil for the newest.
  var generation: QueryGeneration?
  /// Cancels and counts an asynchronous fetch.
  var control: FetchControl?

  /// The number of matching rows after which a search may end; `Int.max` for none.
  var mostMatches: Int {
    guard limit > 0 else { return .max }
    let (sum, isTooLarge) = limit.addingReportingOverflow(offset)
    return isTooLarge ? .max : sum
  }
}

extension RowFetch {
  init(_ settings: FetchSettings, of entity: NSEntityDescription) {
    self.init(
      entityName: entity.name ?? "", includesSubentities: settings.includesSubentities, predicate: settings.predicate,
      sortDescriptors: settings.sortDescriptors ?? [], limit: settings.fetchLimit, offset: settings.fetchOffset)
  }
}

/// The part of a store's history to read.
struct HistoryQuery {
  /// Read the transactions after this place.
  let place: NSPersistentHistoryChangeRequest.Place
  /// Whether transactions get their changes.
  let includesChanges: Bool
  /// Whether changes are returned without their transactions and therefore have to hold them.
  let changesAreAlone: Bool
}

/// The new rows of one entity for a batch insertion, created one by one.
struct BatchRows {
  /// What to do with a row whose unique values exist already.
  enum OnDuplicate {
    case fail, skip, update
  }

  let entityName: String
  let onDuplicate: OnDuplicate
  let keepsIDs: Bool
  /// Fills a row, which has the default values, and marks the slots that it sets. False if there are no more rows.
  let next: (_ row: Snapshot, _ named: inout [Bool]) throws -> Bool
}
