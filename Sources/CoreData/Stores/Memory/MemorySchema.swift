/// The facts about its entities that a store in memory needs, computed once when it is opened.
///
/// `@unchecked Sendable`: immutable after `init`.
///
/// It is to rows in memory what `StoreSchema` is to a file: where each relationship's other end is, and what has to be
/// kept in step. Numbers of entities follow their names ("Author" 1, "Book" 2) and mean nothing outside of the process:
/// no file has them.
package final class MemorySchema: @unchecked Sendable {
  /// A to-many relationship, which has a list of its members' keys for each owner.
  ///
  /// ```text
  /// Author.books, inverse author       list 0, followsToOne: the books' slots tell the members, `set` keeps the list
  /// Author.books, inverse authors      list 0, inverse 1: both lists are written with each change
  /// Author.favourites, no inverse      list 0, inverse nil
  /// ```
  package struct ToManyList {
    package let number: Int
    let relationship: NSRelationshipDescription
    /// The numbers of the entities that members may have.
    let destinations: [Int]
    /// The list at the other end, if that is a to-many relationship too; nil if members have a to-one relationship to
    /// the owner, or none.
    let inverse: Int?
    /// Whether the members' to-one relationships determine the members.
    let followsToOne: Bool

    package var isOrdered: Bool { relationship.isOrdered }
  }

  /// A to-one relationship of an entity.
  struct ToOneSlot {
    let slot: Int
    /// The list at the other end, if that is a to-many relationship.
    let inverse: Int?
    let destinations: [Int]
  }

  package struct Entity {
    let storedEntity: StoredEntity
    /// The number of the counter for the hierarchy's keys.
    let root: Int
    /// The numbers of the entity and its subentities.
    let numbers: [Int]
    let toOnes: [ToOneSlot]
    /// The to-many relationships by name.
    package let toManys: [String: ToManyList]
    /// The numbers of the constraints on the entity's rows.
    let constraints: [Int]
    /// The slots that the store holds.
    let storedSlots: [Int]
    /// Their positions are those of the stored slots.
    let properties: WrittenProperties
    let derivedSlots: [Int]
    /// The attributes that history preserves of a deleted row.
    let preserved: [Int]
  }

  /// Values that are unique among the rows of a hierarchy. Nil differs from every value, even from nil.
  struct Constraint {
    let names: [String]
    /// The slots, each with the path to an element of a composite attribute.
    let places: [(slot: Int, path: [String])]
  }

  let storedEntities: StoredEntities
  /// The entities by number; nil for 0.
  private(set) var entities: [Entity?]
  private(set) var constraints: [Constraint] = []
  private(set) var listCount = 0
  private(set) var rootCount = 0
  /// Whether each list is ordered, by list number.
  private(set) var isOrdered: [Bool] = []
  /// The names of the properties that rows have, and of those that only objects have.
  let keptNames: Set<String>
  let transientNames: Set<String>

  /// XML files have one sequence of IDs for all objects: z1 an author, z2 a book. Stores in files therefore share keys;
  /// a store in memory counts each hierarchy by itself, as SQLite's do.
  ///
  /// - Parameter sharesKeys: whether a key is given once in all hierarchies.
  convenience init(_ described: [NSEntityDescription], _ reference: StoreReference, sharesKeys: Bool = false) {
    self.init(StoredEntities(of: described, reference), sharesKeys: sharesKeys)
  }

  /// For rows of another store.
  package init(_ storedEntities: StoredEntities, sharesKeys: Bool = false) {
    self.storedEntities = storedEntities
    let presentEntities = storedEntities.byNumber.compactMap(\.self)
    (keptNames, transientNames) = MemorySchema.names(presentEntities)
    entities = Array(repeating: nil, count: storedEntities.byNumber.count)
    var roots: [Int32: Int] = [:]
    for storedEntity in presentEntities where roots[storedEntity.table] == nil {
      roots[storedEntity.table] = sharesKeys ? 0 : roots.count
    }
    rootCount = sharesKeys ? 1 : roots.count
    let numbers = Dictionary(
      uniqueKeysWithValues: presentEntities.map { storedEntity in
        (
          storedEntity.layout.name,
          presentEntities.filter { $0.entity.isKindOf(entity: storedEntity.entity) }.map(\.number)
        )
      })
    var lists = ListNumbers()
    for storedEntity in presentEntities {
      let constraints = constraints(of: storedEntity, presentEntities)
      let storedSlots = storedEntity.layout.slots.indices.filter {
        !storedEntity.layout.slots[$0].isTransient && !storedEntity.layout.slots[$0].isDerived
      }
      entities[storedEntity.number] = Entity(
        storedEntity: storedEntity, root: roots[storedEntity.table] ?? 0,
        numbers: numbers[storedEntity.layout.name] ?? [],
        toOnes: MemorySchema.toOnes(storedEntity.layout, numbers, &lists),
        toManys: MemorySchema.toManys(storedEntity.layout, numbers, &lists),
        constraints: constraints, storedSlots: storedSlots,
        properties: properties(storedEntity.layout, storedSlots, constraints),
        derivedSlots: storedEntity.layout.slots.indices.filter { storedEntity.layout.slots[$0].isDerived },
        preserved: storedEntity.layout.slots.indices.filter {
          storedEntity.layout.slots[$0].attribute?.preservesValueInHistoryOnDeletion
            ?? false
        })
    }
    listCount = lists.ordered.count
    isOrdered = lists.ordered
  }

  package func entity(_ number: Int) -> Entity {
    guard entities.indices.contains(number), let entity = entities[number] else {
      preconditionFailure("The store holds no entity number \(number).")
    }
    return entity
  }

  func entity(named name: String) throws -> Entity {
    if let storedEntity = storedEntities.byName[name] { return entity(storedEntity.number) }
    throw CoreDataErrors.error(.persistentStoreOperation, "The store holds no entity \(name).")
  }

  /// The unique values of a row; nil if one is nil.
  ///
  /// - Parameter resolve: gives the permanent key for a temporary one of a to-one relationship.
  func uniqueValues(
    _ row: Snapshot, _ constraint: Int, _ resolve: (RelatedKey) -> RelatedKey? = { $0 }
  ) -> [PredicateValue]? {
    var values: [PredicateValue] = []
    for (slot, path) in constraints[constraint].places {
      let value: PredicateValue
      if row.layout.slots[slot].kind == .toOne {
        value = row.related(slot).flatMap(resolve).map { .integer($0.key) } ?? .null
      } else if path.isEmpty {
        value = row.predicateValue(slot)
      } else {
        value = PredicateValue(
          (row.value(slot) as? [String: Any]).flatMap { CompositeValue.value(at: path[...], in: $0) })
      }
      if value.isNull { return nil }
      values.append(value)
    }
    return values
  }

  // MARK: Working it out

  /// Numbers the lists of members. An inherited relationship has the same number in all entities.
  ///
  /// `Novel.fans` is `Book.fans`, inherited: one list, since a fetch of `Book` may come upon a novel.
  private struct ListNumbers {
    private var numbers: [String: Int] = [:]
    private(set) var ordered: [Bool] = []

    mutating func number(_ relationship: NSRelationshipDescription) -> Int {
      let name = "\(relationship.owner?.name ?? "").\(relationship.name)"
      if let number = numbers[name] { return number }
      numbers[name] = ordered.count
      ordered.append(relationship.isOrdered)
      return ordered.count - 1
    }
  }

  /// For `Book.author` with the inverse `Author.books`: the slot 0, the list of `Author.books`, and the entities that
  /// an author may be of. An inverse in another store has no list here.
  private static func toOnes(
    _ layout: EntityLayout, _ numbers: [String: [Int]], _ lists: inout ListNumbers
  ) -> [ToOneSlot] {
    layout.toOneSlots.map { slot in
      let relationship = layout.slots[slot].relationship
      let inverse = relationship?.inverseRelationship
      let isList = inverse?.isToMany ?? false && numbers[inverse?.owner?.name ?? ""] != nil
      return ToOneSlot(
        slot: slot, inverse: isList ? inverse.map { lists.number($0) } : nil,
        destinations: numbers[relationship?.destinationEntity?.name ?? ""] ?? [])
    }
  }

  /// An entity's to-many relationships, each with its list.
  ///
  /// ```text
  /// relationship                       followsToOne   inverse list
  /// Author.books ↔ Book.author         true           nil
  /// Author.books ↔ Book.authors        false          that of Book.authors
  /// Author.favourites, no inverse      false          nil
  /// ```
  private static func toManys(
    _ layout: EntityLayout, _ numbers: [String: [Int]], _ lists: inout ListNumbers
  ) -> [String: ToManyList] {
    var toManys: [String: ToManyList] = [:]
    for relationship in layout.toManys where !relationship.isTransient {
      let destinations = numbers[relationship.destinationEntity?.name ?? ""] ?? []
      let inverse = relationship.inverseRelationship
      toManys[relationship.name] = ToManyList(
        number: lists.number(relationship), relationship: relationship, destinations: destinations,
        inverse: inverse.flatMap { $0.isToMany && !destinations.isEmpty ? lists.number($0) : nil },
        followsToOne: inverse.map { !$0.isToMany } ?? false)
    }
    return toManys
  }

  private func properties(_ layout: EntityLayout, _ slots: [Int], _ constraints: [Int]) -> WrittenProperties {
    let constrained = Set(constraints.flatMap { self.constraints[$0].places.map(\.slot) })
    var unique = StepSet()
    for (position, slot) in slots.enumerated() where constrained.contains(slot) { unique.insert(position) }
    return WrittenProperties(layout, slots: slots, unique: unique)
  }

  /// The constraints of a row's hierarchy on properties of the entity.
  ///
  /// A constraint that `Book` declares holds for novels too, with one table of values for both; one that `Novel`
  /// declares on `Book.title` holds for plain books as well, since an SQL index would span the table.
  private func constraints(of storedEntity: StoredEntity, _ storedEntities: [StoredEntity]) -> [Int] {
    var constraints: [Int] = []
    for other in storedEntities where other.table == storedEntity.table {
      for names in other.entity.uniquenessConstraints.map(other.entity.names(of:)) {
        let paths = names.map { $0.components(separatedBy: ".") }
        let slots = paths.compactMap { storedEntity.layout.slot($0[0]) }
        let theirs = paths.compactMap { other.layout.slot($0[0]) }
        guard !names.isEmpty, slots.count == names.count, theirs.count == names.count,
          zip(slots, theirs).allSatisfy({ storedEntity.layout.slots[$0].property === other.layout.slots[$1].property })
        else { continue }
        let number = number(of: names, zip(slots, paths).map { ($0, Array($1.dropFirst())) }, storedEntity.table)
        if !constraints.contains(number) { constraints.append(number) }
      }
    }
    return constraints
  }

  /// The table of each constraint.
  private var constraintTables: [Int32] = []

  private func number(of names: [String], _ places: [(slot: Int, path: [String])], _ table: Int32) -> Int {
    let sameConstraint = constraints.indices.first {
      constraintTables[$0] == table && constraints[$0].names == names
        && constraints[$0].places.map(\.slot) == places.map(\.slot)
    }
    if let sameConstraint { return sameConstraint }
    constraints.append(Constraint(names: names, places: places))
    constraintTables.append(table)
    return constraints.count - 1
  }
}

extension StoredEntities {
  /// Creates the entities of a store without entity numbers of its own: they are numbered by name from 1. Entities of
  /// one hierarchy share their keys.
  convenience init(of entities: [NSEntityDescription], _ reference: StoreReference, isFollowed: Bool = false) {
    self.init(reference: reference, isFollowed: isFollowed)
    var tables: [ObjectIdentifier: Int32] = [:]
    let sorted = entities.sorted(onBytes: { $0.name ?? "" })
    for (index, entity) in sorted.enumerated() {
      var root = entity
      while let above = root.superentity { root = above }
      let table = tables[ObjectIdentifier(root)] ?? StoredEntity.newTable()
      tables[ObjectIdentifier(root)] = table
      add(StoredEntity(layout: entity.layout, collection: self, number: index + 1, table: table))
    }
  }
}
