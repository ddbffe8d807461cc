extension NSAttributeDescription {
  /// An attribute for a model in code: see `NSManagedObjectModel.init(file:line:_:)`.
  ///
  /// ```swift
  /// let pages = NSAttributeDescription("pages", .integer64, default: 0, isOptional: false)
  /// let cover = NSAttributeDescription("cover", .binaryData) { $0.allowsExternalBinaryDataStorage = true }
  /// ```
  ///
  /// Use it inside of `NSEntityDescription(_:…)`; elsewhere it is an attribute without an entity. The type of the
  /// default value is not checked.
  ///
  /// Not part of Apple's API.
  ///
  /// - Parameters:
  ///   - name: the attribute's name: unique in its entity, of letters, digits and underscores.
  ///   - type: the kind of value.
  ///   - value: the value of a new object.
  ///   - isOptional: whether the value may be nil.
  ///   - configure: gets the attribute, to set its other properties.
  public convenience init(
    _ name: String, _ type: AttributeType, default value: Any? = nil, isOptional: Bool = true,
    _ configure: (NSAttributeDescription) -> Void = { _ in }
  ) {
    self.init()
    self.name = name
    self.type = type
    self.isOptional = isOptional
    setDefault(value)
    configure(self)
  }

  /// Sets the value in a method, since an assignment in an initialiser does not call the property's observers.
  private func setDefault(_ value: Any?) { defaultValue = value }
}

extension NSCompositeAttributeDescription {
  /// A composite attribute for a model in code: see `NSManagedObjectModel.init(file:line:_:)`.
  ///
  /// ```swift
  /// let address = NSCompositeAttributeDescription("address") {
  ///   NSAttributeDescription("street", .string)
  ///   NSAttributeDescription("city", .string)
  /// }
  /// ```
  ///
  /// The value of an object is `[String: Any]` by element name; fetches name an element by its path, `address.city`.
  ///
  /// - Parameters:
  ///   - name: the attribute's name: unique in its entity, of letters, digits and underscores.
  ///   - isOptional: whether all elements may be nil.
  ///   - elements: attributes, which may be composite themselves.
  ///
  /// Not part of Apple's API.
  public convenience init(
    _ name: String, isOptional: Bool = true,
    @NSManagedObjectModel.Builder<NSAttributeDescription> _ elements: () -> [NSAttributeDescription]
  ) {
    self.init(name, .composite, isOptional: isOptional)
    self.elements = elements()
  }
}

extension NSDerivedAttributeDescription {
  /// A derived attribute for a model in code: see `NSManagedObjectModel.init(file:line:_:)`.
  ///
  /// ```swift
  /// let count = NSDerivedAttributeDescription("bookCount", .integer64, from: NSExpression(format: "books.@count"))
  /// ```
  ///
  /// - Parameters:
  ///   - name: the attribute's name.
  ///   - type: the kind of the computed value: `.integer64` for a count, `.string` for `canonical:(name)`.
  ///   - derivation: the expression. SQLite stores compute counts, sums, minima, maxima and averages over a to-many
  ///     relationship, the text functions, `now()`, and copies; others stay nil there.
  ///
  /// Not part of Apple's API.
  public convenience init(_ name: String, _ type: AttributeType, from derivation: NSExpression) {
    self.init(name, type)
    derivationExpression = derivation
  }
}

extension NSFetchIndexDescription {
  /// A fetch index for a model in code: see `NSManagedObjectModel.init(file:line:_:)`.
  ///
  /// ```swift
  /// let byName = NSFetchIndexDescription("byName", on: "last", "first")
  /// let newest = NSFetchIndexDescription("newest", on: "date", isAscending: false)
  /// ```
  ///
  /// The names are checked when the model is made: `NSManagedObjectModel.init` throws for one that does not exist. For
  /// elements with different directions set `elements` instead.
  ///
  /// Not part of Apple's API.
  ///
  /// - Parameters:
  ///   - name: the index's name: unique in its entity.
  ///   - properties: the names of the indexed properties, the most significant first.
  ///   - isAscending: whether the index holds the values in ascending order.
  public convenience init(_ name: String, on properties: String..., isAscending: Bool = true) {
    let elements = properties.map { NSFetchIndexElementDescription(propertyName: $0, collationType: .binary) }
    for element in elements { element.isAscending = isAscending }
    self.init(name: name, elements: elements)
  }
}
