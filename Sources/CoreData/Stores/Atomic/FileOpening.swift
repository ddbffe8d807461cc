/// The steps that open a store in a file that is read and written as a whole.
///
/// ```text
/// exists      reads the whole file, notes its state before
/// create      encodes an empty memory, writes it, reads it back
/// metadata    of the data that was read
/// migrate     decodes into the old model, maps the rows, encodes for the new one, replaces the file
/// open        hands the data over: `FileStore` decodes the rows
/// ```
///
/// A file of no bytes counts as none: programs make one to reserve a name.
final class FileOpening: OpeningSteps {
  /// The content of a file.
  struct Opened {
    let data: Data
    let metadata: [String: Any]
    let state: FileStore.FileState?
  }

  let opening: StoreOpening
  let format: any StoreFormat.Type
  let url: URL
  /// The file as it was read last; nil for none. It is read once, and again after a change.
  private var content: (data: Data, state: FileStore.FileState?)?

  /// - Throws: 134080 for an opening without the URL of a file, 134020 for attributes whose values cannot be written to
  ///   a file, and for names that the format cannot keep apart.
  init(_ opening: StoreOpening, _ format: any StoreFormat.Type) throws {
    guard let url = opening.url, !url.isInMemoryStore else {
      throw CoreDataErrors.error(
        .persistentStoreOpen,
        "A store of the type \(opening.type) needs the URL of a file; use \(NSInMemoryStoreType) without.")
    }
    self.opening = opening
    self.format = format
    self.url = url
    try format.check(opening.entities)
    for entity in opening.entities {
      for attribute in entity.attributesByName.values
      where attribute.attributeType == .objectIDAttributeType && !attribute.isTransient {
        throw CoreDataErrors.error(
          .persistentStoreIncompatibleSchema,
          "\(entity.name ?? "").\(attribute.name) is an object ID, which a store of the type \(opening.type) cannot "
            + "keep; make it transient, or keep the ID's URI.")
      }
    }
  }

  var place: String { url.path }

  func exists() throws -> Bool {
    try read()
    return content != nil
  }

  private func read() throws {
    // Taken before the file is read, so that a change during the reading is noticed at the next save.
    let state = FileStore.FileState(url)
    content = try FileStore.read(url).map { ($0, state) }
  }

  private func existing() throws -> (data: Data, state: FileStore.FileState?) {
    if let content { return content }
    throw CoreDataErrors.noStore("\(place) holds no store.")
  }

  func create() throws {
    let empty = MemoryStore(holding: opening.entities)
    let metadata = StoreMetadata.new(opening, identifier: UUID().uuidString)
    try FileStore.write(FileStore.translating(url) { try format.encode(empty.memory, metadata) }, to: url)
    try read()
  }

  func metadata() throws -> [String: Any] {
    let data = try existing().data
    return try FileStore.translating(url) { try format.metadata(in: data) }
  }

  /// The file is compared with the one that was read before it is replaced, as in a save. There is no lock that a
  /// second program would wait for.
  ///
  /// - Throws: the errors of a migration of a SQLite file, and 134110 if another program writes the file meanwhile.
  func migrate() throws {
    let (data, state) = try existing()
    let migrated = try SourceModels.withModel(for: metadata(), path: place) { source in
      try FileStore.migrated(
        data, of: url, in: format, from: source.entities, to: opening.entities, opening.model.versionIdentifiers)
    }
    guard FileStore.FileState(url) == state else { throw FileStore.changedDuringMigration(url) }
    do {
      try FileStore.write(migrated, to: url)
    } catch {
      throw CoreDataErrors.error(
        .migration, "\(place) could not be migrated: \(error.localizedDescription)", [NSUnderlyingErrorKey: error])
    }
    try read()
  }

  func open(_ metadata: [String: Any]) throws -> Opened {
    let (data, state) = try existing()
    return Opened(data: data, metadata: metadata, state: state)
  }
}
