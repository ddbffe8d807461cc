/// Which derived attributes depend on a changed row, for each entity of a store.
///
/// Made once for a store, from the key paths of the derivations. A store in memory computes the dependent attributes;
/// for a file or a server, whose triggers compute them, the row cache drops the rows that have them. The way from a
/// changed row to the rows that are derived from it is a key path's relationships, inverted and in reverse order:
///
/// ```text
/// derived attribute                      a change of   is followed along
/// -------------------------------------  ------------  -------------------
/// Book.authorName = author.name          an author     books
/// Author.totalPages = books.@sum.pages   a book        author
/// Author.tagCount = books.tags.@count    a tag         books, author
///                                        a book        author
/// ```
///
/// Without an inverse relationship there is no way back: then all rows of the derived attribute's entity are computed.
/// The same holds after each save where an expression reads other key paths than those of the row itself, as `SUBQUERY`
/// does.
struct DerivedDependents {
  struct Dependent {
    /// The names of the relationships from the changed row to the dependent rows; nil for all rows.
    let inverses: [String]?
    /// The properties of the changed row that are read; a count reads none.
    var names: Set<String> = []
    /// The derived slots by the number of their entity.
    var slots: [Int: Set<Int>]
  }

  /// The dependents of a row of each entity, by its number.
  private(set) var byNumber: [[Dependent]]
  /// The slots, by entity number, whose expressions name a derived attribute: computed again when that has changed.
  private(set) var secondary: [Int: Set<Int>] = [:]
  /// No chain of derived attributes is longer than their number.
  private(set) var longestChain = 1

  init(_ entities: StoredEntities) {
    byNumber = Array(repeating: [], count: entities.byNumber.count)
    for case let storedEntity? in entities.byNumber where storedEntity.layout.hasDerived {
      for (slot, description) in storedEntity.layout.slots.enumerated() {
        guard let attribute = description.property as? NSDerivedAttributeDescription else { continue }
        longestChain += 1
        add(attribute.derivationExpression, (storedEntity, slot), entities)
      }
    }
  }

  private mutating func add(
    _ expression: NSExpression?, _ place: (entity: StoredEntity, slot: Int), _ entities: StoredEntities
  ) {
    guard let paths = expression?.ownKeyPaths else {
      secondary[place.entity.number, default: []].insert(place.slot)
      for number in byNumber.indices { add(nil, reading: [], to: number, place) }
      return
    }
    for path in paths {
      var entity = place.entity.entity
      var inverses: [String]? = []
      let names = path.filter { !$0.hasPrefix("@") }
      for (index, name) in names.enumerated() {
        guard let relationship = entity.relationshipsByName[name] else {
          if entity.attributesByName[name] is NSDerivedAttributeDescription {
            secondary[place.entity.number, default: []].insert(place.slot)
          }
          break
        }
        guard let destination = relationship.destinationEntity else { break }
        if let inverse = relationship.inverseRelationship, !inverse.isTransient {
          inverses?.insert(inverse.name, at: 0)
        } else {
          inverses = nil
        }
        for case let other? in entities.byNumber where other.entity.isKindOf(entity: destination) {
          add(inverses, reading: names.dropFirst(index + 1).prefix(1), to: other.number, place)
        }
        entity = destination
      }
    }
  }

  private mutating func add(
    _ inverses: [String]?, reading names: ArraySlice<String>, to number: Int,
    _ place: (entity: StoredEntity, slot: Int)
  ) {
    let index = byNumber[number].firstIndex { $0.inverses == inverses } ?? byNumber[number].count
    if index == byNumber[number].count { byNumber[number].append(Dependent(inverses: inverses, slots: [:])) }
    byNumber[number][index].names.formUnion(names)
    byNumber[number][index].slots[place.entity.number, default: []].insert(place.slot)
  }
}

extension NSExpression {
  /// The key paths that the expression reads of the evaluated object; nil if it may read others.
  fileprivate var ownKeyPaths: [[String]]? {
    switch node {
    case .constant, .evaluatedObject, .variable, .anyKey: []
    case .keyPath(let operand, let path):
      if operand.map({ $0.node.isEvaluatedObject }) ?? true { [path.keys] } else { nil }
    case .function(_, let operand, let arguments):
      NSExpression.ownKeyPaths(of: arguments + (operand.map { [$0] } ?? []))
    case .set(_, let left, let right): NSExpression.ownKeyPaths(of: [left, right])
    case .aggregate(let members): NSExpression.ownKeyPaths(of: members)
    case .assignment(_, let value): value.ownKeyPaths
    case .subquery, .block, .conditional: nil
    }
  }

  private static func ownKeyPaths(of parts: [NSExpression]) -> [[String]]? {
    var paths: [[String]] = []
    for part in parts {
      guard let own = part.ownKeyPaths else { return nil }
      paths += own
    }
    return paths
  }
}

extension ExpressionNode {
  fileprivate var isEvaluatedObject: Bool { if case .evaluatedObject = self { true } else { false } }
}
