extension StoreOpening {
  /// Brings a store's tables to the model, in the store's open transaction: by additions where these are enough, else
  /// by making the tables anew, if that is allowed.
  ///
  /// ```text
  /// allowed        what the models differ in            what happens
  /// -------------  -----------------------------------  ------------------------------------------
  /// .inferred      only additions                       tables and columns are added in place
  /// .inferred      anything that can be inferred        tables are made anew and filled
  /// .additions     only additions                       the same additions, the old model may be unknown
  /// .additions     more                                 134100
  /// ```
  ///
  /// The additions are found out before anything is written: `adding` returns the work instead of doing it, so that its
  /// error leaves the way to `remaking` open.
  ///
  /// - Parameters:
  ///   - metadata: the store's.
  ///   - place: the store's, for errors.
  ///   - kept: reads the model that the store keeps; nil for none.
  ///   - adding: finds out what is missing, given the entities of the old model if that is known; the result adds it.
  ///     Throws `StoreSchemaError` if more than additions are needed.
  ///   - remaking: makes the tables anew.
  /// - Throws: 134130 if the old model is unknown, 134190 if no mapping can be inferred, 134100 if more than additions
  ///   are needed and only these are allowed; what the bodies throw.
  package func migrate(
    _ metadata: [String: Any], at place: String, kept: () throws -> NSManagedObjectModel?,
    adding: (_ old: [NSEntityDescription]?) throws -> () throws -> Void,
    remaking: (SourceModels.Source) throws -> Void
  ) throws {
    guard migration == .additions else {
      return try SourceModels.withModel(for: metadata, path: place, kept: kept) { source in
        var add: (() throws -> Void)?
        if try InferredMapping(from: source.entities, to: entities).onlyAdds {
          do { add = try adding(source.entities) } catch is StoreSchemaError { add = nil }
        }
        if let add { try add() } else { try remaking(source) }
      }
    }
    let source = try SourceModels.find(for: metadata, kept: kept)
    try withExtendedLifetime(source?.model) {
      let add: () throws -> Void
      do { add = try adding(source?.entities) } catch let difference as StoreSchemaError {
        throw CoreDataErrors.error(
          .persistentStoreIncompatibleVersionHash,
          "The model is not the one that \(place) was made with: \(difference).", ["metadata": metadata])
      }
      try add()
    }
  }
}
