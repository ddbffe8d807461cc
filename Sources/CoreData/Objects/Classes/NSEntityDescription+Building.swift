extension NSEntityDescription {
  /// What the braces of an entity may hold: properties, fetch indexes and subentities.
  ///
  /// Not part of Apple's API.
  ///
  /// `NSAttributeDescription`, `NSRelationshipDescription`, `NSFetchedPropertyDescription`, `NSFetchIndexDescription`
  /// and `NSEntityDescription` are parts. Programs conform no type to it.
  public protocol Part {}

  /// An entity for a model in code: see `NSManagedObjectModel.init(file:line:_:)`.
  ///
  /// ```swift
  /// let medium = NSEntityDescription("Medium", isAbstract: true) {
  ///   NSAttributeDescription("title", .string)
  ///   NSEntityDescription("Book", Book.self, unique: [["isbn"]]) {
  ///     NSAttributeDescription("isbn", .string)
  ///   }
  /// }
  /// ```
  ///
  /// Not part of Apple's API.
  ///
  /// Take it for tests, examples and models that depend on data; an `.xcdatamodel` compiled by the build plugin gives
  /// classes and accessors as well. Braces in braces make subentities, which inherit the properties outside.
  /// Relationships name their destination by text, since it may stand below: the model resolves it.
  ///
  /// What happens otherwise: an entity without a class has `NSManagedObject`s, whose properties are reached by
  /// `value(forKey:)`.
  ///
  /// - Parameters:
  ///   - name: the entity's name, of letters, digits and underscores.
  ///   - type: the class of its objects.
  ///   - isAbstract: whether only subentities can have objects.
  ///   - unique: groups of attributes whose values together are unique: see `uniquenessConstraints`.
  ///   - parts: its own properties, fetch indexes and subentities.
  public convenience init(
    _ name: String, _ type: NSManagedObject.Type = NSManagedObject.self, isAbstract: Bool = false,
    unique: [[String]] = [], @NSManagedObjectModel.Builder<any Part> _ parts: () -> [any Part]
  ) {
    self.init()
    self.name = name
    self.isAbstract = isAbstract
    managedObjectClassName = NSStringFromClass(type)
    uniquenessConstraints = unique
    adopt(parts())
  }

  /// Sets the parts with their observers, which an initialiser's assignments do not call.
  ///
  /// In Swift, observers of a property do not run for assignments in the class's own initialiser; they do in a method.
  private func adopt(_ parts: [any Part]) {
    properties = parts.compactMap { $0 as? NSPropertyDescription }
    indexes = parts.compactMap { $0 as? NSFetchIndexDescription }
    subentities = parts.compactMap { $0 as? NSEntityDescription }
  }
}

extension NSEntityDescription: NSEntityDescription.Part {}
extension NSPropertyDescription: NSEntityDescription.Part {}
extension NSFetchIndexDescription: NSEntityDescription.Part {}
