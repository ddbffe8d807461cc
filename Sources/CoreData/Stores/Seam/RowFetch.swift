/// The parameters of a fetch of rows, as a store sees it.
///
/// What is left of an `NSFetchRequest` for one store. Pending changes, faults and prefetching are the context's; a
/// store only finds rows.
package struct RowFetch {
  package var entityName: String
  package var includesSubentities = true
  package var predicate: NSPredicate?
  package var sortDescriptors: [NSSortDescriptor] = []
  package var limit = 0
  package var offset = 0
  /// Whether the rows' values are read, or only their keys.
  package var includesValues = true
  /// The properties to read; nil for all.
  package var properties: Set<String>?
  /// The state of the store to read; nil for the newest.
  package var generation: QueryGeneration?
  /// Cancels and counts an asynchronous fetch.
  package var control: FetchControl?

  package init(
    entityName: String, includesSubentities: Bool = true, predicate: NSPredicate? = nil,
    sortDescriptors: [NSSortDescriptor] = [], limit: Int = 0, offset: Int = 0, includesValues: Bool = true,
    properties: Set<String>? = nil, generation: QueryGeneration? = nil, control: FetchControl? = nil
  ) {
    self.entityName = entityName
    self.includesSubentities = includesSubentities
    self.predicate = predicate
    self.sortDescriptors = sortDescriptors
    self.limit = limit
    self.offset = offset
    self.includesValues = includesValues
    self.properties = properties
    self.generation = generation
    self.control = control
  }

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
package struct HistoryQuery {
  /// Read the transactions after this place.
  package let place: NSPersistentHistoryChangeRequest.Place
  /// Whether transactions get their changes.
  package let includesChanges: Bool
  /// Whether changes are returned without their transactions and therefore have to hold them.
  package let changesAreAlone: Bool

  /// Throws 134301 if transactions after the query's token were deleted.
  ///
  /// ```text
  /// token 3, transactions 4, 5, 6       nothing is missing
  /// token 3, transactions 5, 6          4 was deleted: 134301
  /// token 3, none left, the last was 6  4, 5 and 6 were deleted: 134301
  /// token 6, none left, the last was 6  nothing is missing
  /// ```
  ///
  /// A program that gets 134301 reads the rows themselves, and goes on from the newest token.
  ///
  /// - Parameters:
  ///   - store: the store's identifier.
  ///   - bounds: the numbers of the last transaction ever written and of the oldest one that is there; 0 for none.
  package func checkNothingIsMissing(in store: String, _ bounds: () throws -> (last: Int64, oldest: Int64)) throws {
    guard case .token(let token?) = place, let number = token.numbers[store] else { return }
    let (last, oldest) = try bounds()
    guard number < last, oldest == 0 || number + 1 < oldest else { return }
    throw CoreDataErrors.error(
      .persistentHistoryTokenExpired,
      "The history of the store \(store) was deleted up to transaction \(oldest == 0 ? last : oldest - 1); the token "
        + "is of transaction \(number).")
  }
}

/// The new rows of one entity for a batch insertion, created one by one.
package struct BatchRows {
  /// What to do with a row whose unique values exist already.
  package enum OnDuplicate {
    case fail, skip, update
  }

  package let entityName: String
  package let onDuplicate: OnDuplicate
  package let keepsIDs: Bool
  /// Fills a row, which has the default values, and marks the slots that it sets. False if there are no more rows.
  package let next: (_ row: Snapshot, _ named: inout [Bool]) throws -> Bool
}
