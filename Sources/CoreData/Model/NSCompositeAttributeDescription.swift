/// An attribute made of several attributes, its elements. Its value is a dictionary by element name, or nil if no
/// element has a value.
///
/// ```swift
/// let city = NSAttributeDescription()
/// city.name = "city"
/// city.type = .string
/// let address = NSCompositeAttributeDescription()
/// address.name = "address"
/// address.elements = [city]
/// let author = NSEntityDescription()
/// author.name = "Author"
/// author.properties = [address]
/// ```
///
/// Fetches name an element by its key path: "address.city". Elements belong to the entity of their composite attribute,
/// so they too become immutable once a coordinator uses the model.
///
/// An object reads and sets it as `[String: Any]`, or one element with `setValue(_:forKeyPath:)`. Each element has a
/// column of its own in a SQL store.
///
/// Use it for values that belong to one object, such as an address or a position. Use an entity instead if several
/// objects share them or a fetch returns them.
///
/// Source: Apple's documentation of `NSCompositeAttributeDescription`.
///
/// `@unchecked Sendable`: as `NSPropertyDescription`, whose rule it follows.
open class NSCompositeAttributeDescription: NSAttributeDescription, @unchecked Sendable {
  /// The parts, each an attribute; an element may be composite itself. Default: none.
  ///
  /// Names are unique among the elements. Part of the version hash. Traps once a coordinator uses the model.
  open var elements: [NSAttributeDescription] = [] {
    willSet { checkEditable() }
    didSet { for element in elements { element.owner = owner } }
  }

  /// A composite attribute without elements.
  public override init() {
    super.init()
    attributeType = .compositeAttributeType
  }

  /// A property from an archive that `encode(with:)` made. It belongs to no entity.
  public required init?(coder: NSCoder) {
    super.init(coder: coder)
  }

  override func makeEmpty() -> NSPropertyDescription {
    NSCompositeAttributeDescription()
  }

  override func copyValues(into copy: NSPropertyDescription) {
    super.copyValues(into: copy)
    guard let copy = copy as? NSCompositeAttributeDescription else { return }
    copy.elements = elements.compactMap { $0.copyOfSelf() as? NSAttributeDescription }
  }

  override func hasSameValues(as other: NSPropertyDescription) -> Bool {
    guard let other = other as? NSCompositeAttributeDescription else { return false }
    return super.hasSameValues(as: other) && elements == other.elements
  }

  /// The elements' default values; nil if no element has one.
  package override var initialValue: Any? {
    if let defaultValue { return defaultValue }
    let values = elements.compactMap { element in element.initialValue.map { (element.name, $0) } }
    return values.isEmpty ? nil : Dictionary(values, uniquingKeysWith: { first, _ in first })
  }

  override var hasRules: Bool { super.hasRules || elements.contains(where: \.hasRules) }

  override var isNarrow: Bool { elements.contains(where: \.isNarrow) }

  /// The element of a name; nil for none.
  func element(_ name: String) -> NSAttributeDescription? { elements.first { $0.name == name } }

  /// The elements that hold a value, those inside composite elements included, ordered by name, each with its key path
  /// from here.
  ///
  /// ```text
  /// address(city, position(lat, long))     ["city"], ["position", "lat"], ["position", "long"]
  /// columns                                ZADDRESS_CITY, ZADDRESS_POSITION_LAT, ZADDRESS_POSITION_LONG
  /// ```
  package var leaves: [(path: [String], attribute: NSAttributeDescription)] {
    elements.sorted(onBytes: { $0.name }).flatMap { element in
      guard let composite = element as? NSCompositeAttributeDescription else { return [([element.name], element)] }
      return composite.leaves.map { ([element.name] + $0.path, $0.attribute) }
    }
  }
}

extension NSAttributeDescription {
  /// The attribute at the end of the path: this one for an empty path, else one of its elements.
  func element(at path: some Collection<String>) -> NSAttributeDescription? {
    guard let name = path.first else { return self }
    return (self as? NSCompositeAttributeDescription)?.element(name)?.element(at: path.dropFirst())
  }
}

extension NSEntityDescription {
  /// The attribute at the end of a key path through relationships and composite attributes.
  package func attribute(at keys: some Collection<String>) -> NSAttributeDescription? {
    guard let key = keys.first else { return nil }
    if let attribute = attributesByName[key] { return attribute.element(at: keys.dropFirst()) }
    return relationshipsByName[key]?.destinationEntity?.attribute(at: keys.dropFirst())
  }
}
