extension NSManagedObjectModel {
  /// Reads a model: a `.xcdatamodeld` or compiled `.momd` (its current version), or one version, `.xcdatamodel` or
  /// `.mom`. Nil if it cannot be read; `load(contentsOf:)` says why.
  ///
  /// ```swift
  /// guard let model = NSManagedObjectModel(contentsOf: URL(fileURLWithPath: "Library.momd")) else {
  ///   fatalError("The program's model is missing.")
  /// }
  /// let container = NSPersistentContainer(name: "Library", managedObjectModel: model)
  /// ```
  ///
  /// Use it for a model at a place that only the program knows. `NSPersistentContainer(name:)` finds a model among the
  /// resources of the program by its name, and `EmbeddedModel` needs no file.
  ///
  /// Compiled models may be those of this package's model compiler or of Apple's. Of an `.omo` the `.mom` beside it is
  /// read, which holds the same model.
  ///
  /// Each call reads the file and makes new entities: two models of one file are equal, but an object of one cannot be
  /// inserted with the other. Keep the result. Any thread may call it.
  ///
  /// - Parameter url: a file URL.
  ///
  /// Source: Apple's documentation of `NSManagedObjectModel`.
  public convenience init?(contentsOf url: URL) {
    self.init()
    do {
      try read(contentsOf: url)
    } catch {
      return nil
    }
  }

  /// Reads a model, as `init?(contentsOf:)` does.
  ///
  /// ```swift
  /// do {
  ///   let model = try NSManagedObjectModel.load(contentsOf: URL(fileURLWithPath: "Library.xcdatamodeld"))
  ///   print(model.entities.count)
  /// } catch {
  ///   print(error)  // names the file, the entity and the property
  /// }
  /// ```
  ///
  /// - Parameter url: a file URL of one of the forms that `init?(contentsOf:)` reads.
  /// - Returns: a model that may be changed until a coordinator uses it.
  ///
  /// Not part of Apple's API, which gives nil without a reason. Each call reads the files: keep the result.
  ///
  /// - Throws: `ManagedObjectModelError` with the file, entity and property.
  public static func load(contentsOf url: URL) throws(ManagedObjectModelError) -> NSManagedObjectModel {
    let model = NSManagedObjectModel()
    try model.read(contentsOf: url)
    return model
  }

  /// Fills this model from a file: a keyed archive of Apple's compiler, or XML.
  private func read(contentsOf url: URL) throws(ManagedObjectModelError) {
    let file = try ModelFile(url)
    guard let archive = file.archive else { return try ModelReader(file).read(into: self) }
    do {
      try ArchivedModel.read(archive, into: self)
    } catch {
      throw ManagedObjectModelError(file.version, error.reason)
    }
  }

  /// The models of all versions in a `.xcdatamodeld` or `.momd`, by version name.
  ///
  /// All of them are read, which a migration in stages and the search for a store's model need. One that cannot be read
  /// makes the whole call throw.
  package static func versions(at url: URL) throws(ManagedObjectModelError) -> [String: NSManagedObjectModel] {
    var models: [String: NSManagedObjectModel] = [:]
    for version in try ModelFile.versions(of: url) {
      models[version.deletingPathExtension().lastPathComponent] = try load(contentsOf: version)
    }
    return models
  }
}
