/// Copying the contents of stores to stores of other classes.
extension NSPersistentStoreCoordinator {
  /// An entity whose objects were copied, for the report of the command that copies a store.
  package struct CopiedEntity: Equatable, Sendable {
    package let name: String
    /// The number of its objects, those of subentities left out.
    package let count: Int
  }

  /// How far a copy is, in objects. Both steps go from 0 to the same number: each row is written once and compared
  /// once.
  package enum CopyProgress: Equatable, Sendable {
    case writing(Int, of: Int)
    case comparing(Int, of: Int)
  }

  /// Copies all objects of this coordinator's stores to those of another one, with their keys, then compares all
  /// values. Entities and properties that the other models lack are left out.
  ///
  /// The command that moves a pool from a file to a server uses it, so it must copy all objects or none:
  ///
  /// - one query generation of the source, so that all rows are of one moment while other processes go on writing;
  /// - one transaction at the destination, so that a killed process leaves it empty, and a second run may begin;
  /// - a comparison of what the destination then reads with the same generation, so that a value which the other
  ///   database stores differently is an error now.
  ///
  /// Stores of the same configuration belong together. Those of the destination are in one file or database, are empty,
  /// and are written in one transaction: after an error, or a killed process, they are empty as before. What other
  /// processes write to the source meanwhile is not copied, and neither is the history.
  ///
  /// It reads each row twice and keeps about a thousand in memory (`StoreCopy.rowsAtOnce`), besides the keys of all.
  ///
  /// - Parameters:
  ///   - other: the coordinator whose stores get the objects.
  ///   - progress: called on the calling thread now and then. What it throws ends the copy.
  /// - Returns: the entities, store by store.
  /// - Throws: 134070 (`persistentStoreOperation`) if a store of the destination is missing or not empty, or if the
  ///   comparison finds a difference, after the transaction; 134190 if no mapping can be inferred; errors of the
  ///   stores.
  package func copyContents(
    to other: NSPersistentStoreCoordinator, progress: (CopyProgress) throws -> Void = { _ in }
  ) throws -> [CopiedEntity] {
    let generation = try QueryGeneration(objectStores, of: self)
    var copies = try objectStores.map { source in
      guard let destination = other.objectStores.first(where: { $0.configurationName == source.configurationName })
      else {
        throw CoreDataErrors.error(
          .persistentStoreOperation, "The destination has no store of the configuration \(source.configurationName).")
      }
      let mapping = try RowMapping(from: source.entities, to: destination.entities)
      return StoreCopy(source, to: destination, mapping: mapping, keepsKeys: true, generation: generation)
    }
    for index in copies.indices { try copies[index].findRows() }
    try Self.write(&copies, progress)
    let total = copies.reduce(0) { $0 + $1.rowCount }
    var done = 0
    for copy in copies {
      try copy.compare { count in
        done += count
        try progress(.comparing(done, of: total))
      }
    }
    return copies.flatMap { copy in
      copy.groups.map { CopiedEntity(name: $0.copy.layout.name, count: $0.keys.count) }
    }
  }

  /// Runs the body. At a server, all that the body does with stores that it opens at the place with these options is
  /// one transaction: after an error nothing of it is left, not even the stores that it has made. The body has to do
  /// all of it on the calling thread.
  ///
  /// For a file the body just runs, with no options, since SQLite's transaction belongs to one connection and cannot
  /// contain the making of the file. The body has to pass the options on to each store that it opens at the place: they
  /// name the connection with the open transaction.
  ///
  /// - Parameters:
  ///   - storeType: the type of the stores at the place.
  ///   - url: the place.
  ///   - body: opens and fills the stores; gets the options for that.
  /// - Returns: the body's result; nil if the class of stores never ran the body.
  /// - Throws: `StoreLockTaken` while another program does so at the same place; errors of the body and the store.
  package static func inOneTransaction<T>(
    ofType storeType: String, at url: URL, _ body: (_ options: [AnyHashable: Any]) throws -> T
  ) throws -> T? {
    var result: T?
    try storeClass(storeType, at: url).inOneTransaction(at: url) { result = try body($0) }
    return result
  }

  /// Writes all copies in one transaction of the destination.
  ///
  /// The emptiness is tested inside of the transaction, not before it: otherwise another program could insert a row
  /// between the test and the copy, and the copy would join it.
  private static func write(_ copies: inout [StoreCopy], _ progress: (CopyProgress) throws -> Void) throws {
    guard let scope = copies.first?.destination.writeScope else { return }
    let total = copies.reduce(0) { $0 + $1.rowCount }
    var done = 0
    try scope.exclusively {
      try scope.transaction("Copying") {
        for index in copies.indices {
          try copies[index].destination.requireEmpty()
          do {
            try copies[index].write { count in
              done += count
              try progress(.writing(done, of: total))
            }
          } catch let rejected as RejectedRows {
            throw CoreDataErrors.error(.persistentStoreOperation, "A row cannot be copied: \(rejected.message).")
          }
        }
        try scope.prepareToCommit()
      }
      for copy in copies { copy.destination.didCommit() }
    }
  }
}

extension ObjectStore {
  fileprivate var entities: [NSEntityDescription] { storedEntities.byNumber.compactMap { $0?.entity } }

  /// Throws 134070 for a store with objects.
  fileprivate func requireEmpty() throws {
    for entity in entities where try count(RowFetch(entityName: entity.name ?? "")) > 0 {
      throw CoreDataErrors.error(
        .persistentStoreOperation, "The destination has objects of \(entity.name ?? "") already.")
    }
  }
}
