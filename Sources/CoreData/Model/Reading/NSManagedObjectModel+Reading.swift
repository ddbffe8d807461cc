extension NSManagedObjectModel {
  /// Reads a model: a `.xcdatamodeld` or compiled `.momd` (its current version), or one version, `.xcdatamodel` or
  /// `.mom`. Nil if it cannot be read; `load(contentsOf:)` says why.
  ///
  /// Compiled models are those of this package's model compiler. Apple's compiled models cannot be read.
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
  /// Not part of Apple's API, which gives nil without a reason.
  ///
  /// - Throws: `ManagedObjectModelError` with the file, entity and property.
  public static func load(contentsOf url: URL) throws(ManagedObjectModelError) -> NSManagedObjectModel {
    let model = NSManagedObjectModel()
    try ModelReader(ModelFile(url)).read(into: model)
    return model
  }

  /// The models of all versions in a `.xcdatamodeld` or `.momd`, by version name.
  static func versions(at url: URL) throws(ManagedObjectModelError) -> [String: NSManagedObjectModel] {
    var models: [String: NSManagedObjectModel] = [:]
    for version in try ModelFile.versions(of: url) {
      models[version.deletingPathExtension().lastPathComponent] = try load(contentsOf: version)
    }
    return models
  }
}
