/// The columns of a composite attribute: one for each element that is not composite itself.
struct CompositeColumns: Sendable {
  struct Leaf: Sendable {
    /// The names of the elements on the way to it.
    let path: [String]
    let attribute: NSAttributeDescription
    /// Its name is the key path from the entity: "address.city".
    let column: AttributeColumn

    /// The element's value in a composite's; nil for none.
    func value(in elements: [String: Any]) -> Any? { CompositeValue.value(at: path[...], in: elements) }
  }

  private(set) var leaves: [Leaf] = []

  mutating func add(_ leaf: Leaf) {
    leaves.append(leaf)
    leaves.sort { $0.column.name.precedesByBytes($1.column.name) }
  }

  /// The leaves at or below an element; all for an empty path.
  func leaves(at path: some Collection<String>) -> [Leaf] { leaves.filter { $0.path.starts(with: path) } }
}
