/// How models and descriptions are archived with Foundation's archivers: each as a keyed archive of its own.
///
/// Foundation's archivers build an object before the objects that refer to it, and models refer to themselves.
///
/// So `NSKeyedArchiver.archivedData(withRootObject: model, …)` has one object of the class with one value, the bytes of
/// a second archive. The form is this package's own; Apple's `NSKeyedUnarchiver` does not read it, and this one does
/// not read Apple's through Foundation: use `NSManagedObjectModel(contentsOf:)` for files.
enum ModelCoding {
  private static let key = "NS.archive"

  /// Puts an archive into a coder, as the only value.
  static func encode(_ archive: Data, with coder: NSCoder) {
    coder.encode(archive as NSData, forKey: key)
  }

  /// The archive in a coder; nil if it holds something else.
  static func root(_ coder: NSCoder) -> ArchivedObject? {
    data(coder).flatMap { try? KeyedArchive($0) }?.root
  }

  /// The bytes that `encode` put into a coder; nil if there are none.
  static func data(_ coder: NSCoder) -> Data? {
    coder.decodeObject(of: NSData.self, forKey: key).map { $0 as Data }
  }

  /// The entities that an archived entity or property leads to, with the model that keeps them alive.
  ///
  /// An entity alone cannot be decoded: its inherited properties are known only with its superentities. The caller
  /// copies what it needs and lets the rest go.
  static func entities(around root: ArchivedObject) -> (model: NSManagedObjectModel, reader: ArchivedModel)? {
    let start = root.className == "NSEntityDescription" ? root : root.object("NSEntity")
    let sources = start?.object("NSManagedObjectModel")?.entries("NSEntities").map(\.object) ?? start.map { [$0] } ?? []
    var reader = ArchivedModel()
    // NSCoding's initialiser has no error: nil says that the archive is damaged.
    guard (try? reader.readEntities(sources)) != nil, !root.limits.areExceeded else { return nil }
    let model = NSManagedObjectModel()
    model.entities = sources.compactMap { reader.entity(of: $0) }
    return (model, reader)
  }
}

extension NSManagedObjectModel: NSSecureCoding {
  /// True: an archive holds nothing but a model's own classes.
  public static var supportsSecureCoding: Bool { true }

  /// Archives the model. Use `NSKeyedArchiver`.
  ///
  /// ```swift
  /// let data = try NSKeyedArchiver.archivedData(withRootObject: model, requiringSecureCoding: true)
  /// let copy = try NSKeyedUnarchiver.unarchivedObject(ofClass: NSManagedObjectModel.self, from: data)
  /// print(copy == model)  // true
  /// ```
  ///
  /// The archive is for this module: Apple's framework has another form. A request whose predicate contains a
  /// closure fetches no object after it was read, and at a SQLite file or a server it throws 134070.
  public func encode(with coder: NSCoder) {
    ModelCoding.encode(ModelArchive.data(of: self), with: coder)
  }
}

extension NSEntityDescription: NSSecureCoding {
  /// True: an archive holds nothing but a model's own classes.
  public static var supportsSecureCoding: Bool { true }

  /// Archives the entity alone: its superentity, its subentities and the entities of its relationships are not part of
  /// it. Archive the model to keep them.
  public func encode(with coder: NSCoder) {
    ModelCoding.encode(ModelArchive.data(of: self), with: coder)
  }

  /// Takes the settings and properties of an archived entity, its inherited properties included.
  ///
  /// Inherited properties become the entity's own, since it has no superentity to inherit them from.
  ///
  /// - Returns: false for a damaged archive; the initialiser then returns nil.
  func decode(_ coder: NSCoder) -> Bool {
    guard let root = ModelCoding.root(coder), let (model, reader) = ModelCoding.entities(around: root),
      let entity = reader.entity(of: root)
    else { return false }
    withExtendedLifetime(model) {
      entity.copyOwnValues(into: self)
      properties = entity.properties.map { $0.copyOfSelf() }
      indexes = entity.indexes.map { $0.copyOfSelf() }
    }
    return true
  }
}

extension NSPropertyDescription: NSSecureCoding {
  /// True: an archive holds nothing but a model's own classes.
  public static var supportsSecureCoding: Bool { true }

  /// Archives the property alone: the destination and the inverse of a relationship are not part of it. Archive the
  /// model to keep them.
  public func encode(with coder: NSCoder) {
    ModelCoding.encode(ModelArchive.data(of: self), with: coder)
  }

  /// Takes the settings of an archived property.
  func decode(_ coder: NSCoder) -> Bool {
    guard let root = ModelCoding.root(coder), let property = try? ArchivedModel().property(root),
      !root.limits.areExceeded
    else { return false }
    property.copyValues(into: self)
    return true
  }
}

extension NSFetchIndexDescription: NSSecureCoding {
  /// True: an archive holds nothing but a model's own classes.
  public static var supportsSecureCoding: Bool { true }

  /// Archives the index, with the names of its properties.
  public func encode(with coder: NSCoder) {
    ModelCoding.encode(ModelArchive.data(of: self), with: coder)
  }
}
