extension NSManagedObjectModel {
  /// Reads a model: a `.xcdatamodeld` or compiled `.momd` (its current version), or one version, `.xcdatamodel` or `.mom`.
  /// Nil where that cannot be done; use `load(contentsOf:)` to learn why.
  public convenience init?(contentsOf url: URL) {
    self.init()
    do {
      try ModelReader(ModelFile(url)).read(into: self)
    } catch {
      return nil
    }
  }

  /// Reads a model, as `init?(contentsOf:)` does.
  ///
  /// Not part of Apple's API, where a model that cannot be read is only nil.
  ///
  /// - Throws: `ManagedObjectModelError` with the file, entity and property concerned.
  public static func load(contentsOf url: URL) throws(ManagedObjectModelError) -> NSManagedObjectModel {
    let model = NSManagedObjectModel()
    try ModelReader(ModelFile(url)).read(into: model)
    return model
  }

  /// The models of all versions in a `.xcdatamodeld` or `.momd`, by the version's name.
  static func versions(at url: URL) throws(ManagedObjectModelError) -> [String: NSManagedObjectModel] {
    var models: [String: NSManagedObjectModel] = [:]
    for version in try ModelFile.versions(of: url) {
      models[version.deletingPathExtension().lastPathComponent] = try load(contentsOf: version)
    }
    return models
  }
}
