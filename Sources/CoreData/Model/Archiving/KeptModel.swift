/// The copy of its model that a store keeps: a packed keyed archive, as in Apple's files.
///
/// A SQLite store has it in `Z_MODELCACHE`, a store at a server in a table of its schema. It is written when the store
/// is made and after a migration, and read when a program with another model opens the store: it is the source of the
/// migration then. A tool can read the model of a store from it, without the program that made it.
package enum KeptModel {
  /// The copy of a model.
  ///
  /// - Returns: DEFLATE data of a keyed archive: see `Deflate` and `ModelArchive`.
  ///
  /// - Parameter entities: those of the store's configuration; nil for all. The copy has no others, since a program
  ///   that opens the store by its copy would look for their tables.
  package static func data(of model: NSManagedObjectModel, _ entities: [NSEntityDescription]? = nil) -> Data {
    let names = entities.map { Set($0.compactMap(\.name)) }
    return Deflate.pack(ModelArchive.data(of: names.map(model.part) ?? model))
  }

  /// The model of a copy.
  ///
  /// - Parameters:
  ///   - data: what `data(of:_:)` or Apple's framework made.
  ///   - place: the store, for the error.
  ///
  /// - Throws: 134020 if it is damaged.
  package static func model(in data: Data, of place: String) throws -> NSManagedObjectModel {
    let model = NSManagedObjectModel()
    // Whatever is wrong with the archive, the error says that the copy is damaged.
    guard let archive = Deflate.unpack(data), (try? ArchivedModel.read(archive, into: model)) != nil else {
      throw CoreDataErrors.error(
        .persistentStoreIncompatibleSchema, "The copy of its model that \(place) keeps is damaged.")
    }
    return model
  }
}
