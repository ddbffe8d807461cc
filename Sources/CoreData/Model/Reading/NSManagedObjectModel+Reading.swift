extension NSManagedObjectModel {
  /// Reads a model: a `.xcdatamodeld` or compiled `.momd` (its current version), or one version, `.xcdatamodel` or
  /// `.mom`. Nil if it cannot be read; `load(contentsOf:)` says why.
  ///
  /// Compiled models may be those of this package's model compiler or of Apple's. Of an `.omo` the `.mom` beside it is
  /// read, which holds the same model.
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
  /// Not part of Apple's API, which gives nil without a reason. It reads files at each call: keep the result.
  ///
  /// - Throws: `ManagedObjectModelError` with the file, entity and property.
  public static func load(contentsOf url: URL) throws(ManagedObjectModelError) -> NSManagedObjectModel {
    let model = NSManagedObjectModel()
    try model.read(contentsOf: url)
    return model
  }

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
  package static func versions(at url: URL) throws(ManagedObjectModelError) -> [String: NSManagedObjectModel] {
    var models: [String: NSManagedObjectModel] = [:]
    for version in try ModelFile.versions(of: url) {
      models[version.deletingPathExtension().lastPathComponent] = try load(contentsOf: version)
    }
    return models
  }
}
