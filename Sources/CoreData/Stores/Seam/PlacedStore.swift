/// A class of stores that coordinators find by its type, and that can be asked about the stores at a place, open or
/// not.
///
/// The static methods are what a coordinator can do with a file that it has not opened: `destroyPersistentStore`,
/// `replacePersistentStore`, `metadataForPersistentStore`, and migrations from file to file.
package protocol PlacedStore: ObjectStore {
  /// The types under which this class is registered by itself; none if the program registers it.
  static var storeTypes: [String] { get }

  // MARK: The place of an open store

  /// The files that each commit changes; none in memory.
  var files: [URL] { get }

  /// Opens a new, empty store instead of the one at the place, if there is one. Others that have the place open here
  /// are not in the opening.
  ///
  /// - Parameter closing: closes the stores that have the file open here, if they must not be open any more.
  static func openReplacing(_ opening: StoreOpening, closing: () throws -> Void) throws -> any ObjectStore

  /// Copies the store to another place, with the same keys, a UUID of its own and without history, and opens the copy.
  /// Nil if the class has no own way to do so; then the rows are copied one by one.
  func copy(to opening: StoreOpening) throws -> (any ObjectStore)?

  // MARK: Stores that are not open

  static func metadata(at url: URL, _ options: [AnyHashable: Any]?) throws -> [String: Any]

  /// Runs the body. What it does with stores that it opens at the place with these options is one transaction, if the
  /// place is a server's: after an error nothing of it is there, not even the stores that it has made.
  ///
  /// - Throws: `StoreLockTaken` while another program does so at the same place.
  static func inOneTransaction(at url: URL, _ body: (_ options: [AnyHashable: Any]) throws -> Void) throws

  /// Replaces the metadata, except the parts that the store itself needs.
  static func setMetadata(_ metadata: [String: Any], at url: URL, _ options: [AnyHashable: Any]?) throws

  /// The model that a store's file keeps; nil for none.
  ///
  /// - Throws: 134020 if it is damaged or is not the model of the store's content.
  static func keptModel(at url: URL, _ options: [AnyHashable: Any]?) throws -> NSManagedObjectModel?

  /// Gives a store's file that nobody has open another UUID, and the model that it keeps.
  static func setModel(
    _ model: NSManagedObjectModel, identifier: String, at url: URL, _ options: [AnyHashable: Any]?) throws

  /// Empties a store's file and removes the files beside it.
  ///
  /// - Parameter closing: closes the stores that have the file open here. Called when the file has no content any more.
  static func destroy(at url: URL, _ options: [AnyHashable: Any]?, closing: () throws -> Void) throws

  /// Replaces a store's file by a copy of another one, in place.
  static func replace(_ destination: StoreFile, with source: StoreFile) throws

  /// Replaces a store by the one that the body makes of it, for a migration by a mapping model. No one else's save to
  /// the store is lost: it is either read by the body or an error.
  ///
  /// - Parameter make: reads the store and makes another one, whose place it returns; nil to leave the store as it is.
  ///   Called again if the store was changed meanwhile.
  static func replace(_ store: StoreFile, byMaking make: () throws -> StoreFile?) throws

  /// Makes a store's file a copy of another one with the schema of another model, with the same keys and UUID.
  ///
  /// - Returns: false if the class has no own way to do so; then the rows are copied one by one.
  static func migrate(
    _ source: StoreFile, _ old: NSManagedObjectModel, to destination: StoreFile, _ new: NSManagedObjectModel
  ) throws -> Bool
}

extension PlacedStore {
  package static func openReplacing(_ opening: StoreOpening, closing: () throws -> Void) throws -> any ObjectStore {
    if let url = opening.url { try destroy(at: url, opening.options, closing: closing) }
    return try open(opening)
  }

  package static func keptModel(at url: URL, _ options: [AnyHashable: Any]?) throws -> NSManagedObjectModel? { nil }

  package static func replace(_ store: StoreFile, byMaking make: () throws -> StoreFile?) throws {
    if let new = try make() { try replace(store, with: new) }
  }

  package static func setModel(
    _ model: NSManagedObjectModel, identifier: String, at url: URL, _ options: [AnyHashable: Any]?
  ) throws {}

  package static func inOneTransaction(at url: URL, _ body: (_ options: [AnyHashable: Any]) throws -> Void) throws {
    try body([:])
  }
}

/// A lock that a store should hold is held by another program.
package struct StoreLockTaken: Error {
  package init() {}
}
