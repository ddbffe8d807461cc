/// What a kind of stores does at each step of its opening.
///
/// SQLite's, the files' and PostgreSQL's. Each step looks at the place anew, because another process may have done the
/// same in between: `create` and `migrate` look again under their lock.
package protocol OpeningSteps {
  /// What opening finds.
  associatedtype Opened

  var opening: StoreOpening { get }

  /// The store's place, for errors.
  var place: String { get }

  /// Whether nothing may be created, migrated or prepared.
  var isReadOnly: Bool { get }

  func exists() throws -> Bool

  /// Creates the store, unless another process has created it meanwhile.
  func create() throws

  /// Called for a store that is there and may be written, before its model is looked at.
  func prepareExisting() throws

  func metadata() throws -> [String: Any]

  /// Whether a store with the metadata has to be migrated, and may be.
  ///
  /// - Throws: 134140 if only a mapping model may do it.
  func needsMigration(_ metadata: [String: Any]) throws -> Bool

  /// Brings the store to the model, unless another process has done so meanwhile.
  func migrate() throws

  /// - Parameter metadata: the store's. It is of the opening's model.
  func open(_ metadata: [String: Any]) throws -> Opened
}

extension OpeningSteps {
  package var isReadOnly: Bool { opening.isReadOnly }

  package func prepareExisting() throws {}

  package func needsMigration(_ metadata: [String: Any]) throws -> Bool {
    try opening.migrates(metadata, at: place)
  }

  /// Opens a store, whatever it is kept in:
  ///
  ///     is there none?                create it, if the options allow it, or throw 134080
  ///     else, if it may be written    prepare it
  ///                                   migrate it, if it is of another model and the options ask for it
  ///     is it of another model?       throw 134100
  ///     open it
  package func run() throws -> Opened {
    if try !exists() {
      guard !isReadOnly, !opening.mustExist else { throw CoreDataErrors.noStore("\(place) holds no store.") }
      try create()
    } else if !isReadOnly {
      try prepareExisting()
    }
    var metadata = try metadata()
    if !isReadOnly, try needsMigration(metadata) {
      try migrate()
      metadata = try self.metadata()
    }
    try StoreMetadata.checkVersion(of: metadata, for: opening.entities, options: opening.options, place: place)
    return try open(metadata)
  }
}
