/// The columns of a composite attribute: one for each element that is not composite itself.
///
/// `Author.address` with `city` and `zip` has the leaves `address.city` in ZADDRESS_CITY and `address.zip` in
/// ZADDRESS_ZIP. The composite itself has no column: it is nil if all its leaves are NULL, and a predicate `address ==
/// nil` becomes `coalesce(t0.ZADDRESS_CITY, t0.ZADDRESS_ZIP) IS NULL`.
package struct CompositeColumns: Sendable {
  /// For `address.city`: the path `["city"]`, the element's description, the column ZADDRESS_CITY. In a composite
  /// within a composite the path has two names.
  package struct Leaf: Sendable {
    /// The names of the elements on the way to it.
    package let path: [String]
    package let attribute: NSAttributeDescription
    /// Its name is the key path from the entity: "address.city".
    package let column: AttributeColumn

    package init(path: [String], attribute: NSAttributeDescription, column: AttributeColumn) {
      self.path = path
      self.attribute = attribute
      self.column = column
    }

    /// The element's value in a composite's; nil for none.
    package func value(in elements: [String: Any]) -> Any? { CompositeValue.value(at: path[...], in: elements) }
  }

  package private(set) var leaves: [Leaf] = []

  package init() {}

  package mutating func add(_ leaf: Leaf) {
    leaves = (leaves + [leaf]).sorted(onBytes: { $0.column.name })
  }

  /// The leaves at or below an element; all for an empty path.
  func leaves(at path: some Collection<String>) -> [Leaf] { leaves.filter { $0.path.starts(with: path) } }
}
