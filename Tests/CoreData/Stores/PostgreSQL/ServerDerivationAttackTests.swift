@testable import CoreDataPostgreSQL
import TestFiles
import Testing

@testable import CoreData

/// Derived values at a server after long random histories: of saves, of batch requests, of several coordinators.
@Suite(.enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"), .timeLimit(.minutes(20)))
struct ServerDerivationAttackTests {
  private static let derivations: [(name: String, entity: String, type: NSAttributeType, format: String)] = [
    ("d_upper", "Node", .stringAttributeType, "uppercase:(name)"),
    ("d_parentName", "Node", .stringAttributeType, "parent.name"),
    ("d_parentCount", "Node", .integer64AttributeType, "parent.d_count"),
    ("d_count", "Node", .integer64AttributeType, "children.@count"),
    ("d_sum", "Node", .integer64AttributeType, "children.@sum.size"),
    ("d_counts", "Node", .integer64AttributeType, "children.@sum.d_count"),
    ("d_longest", "Node", .stringAttributeType, "children.@max.d_upper"),
    ("d_friends", "Node", .integer64AttributeType, "friends.@count"),
    ("d_friendSize", "Node", .integer64AttributeType, "friends.@sum.size"),
    ("d_items", "Node", .integer64AttributeType, "items.@count"),
    ("d_weight", "Node", .decimalAttributeType, "items.@sum.weight"),
    ("d_least", "Node", .decimalAttributeType, "items.@min.weight"),
    ("d_leafItems", "Leaf", .integer64AttributeType, "items.@sum.size"),
    ("d_first", "Leaf", .stringAttributeType, "items.@min.label"),
    ("d_owner", "Item", .stringAttributeType, "node.d_upper"),
    ("d_ownerItems", "Item", .integer64AttributeType, "node.d_items"),
    ("d_labels", "Item", .integer64AttributeType, "labels.@count"),
    ("d_lastLabel", "Item", .stringAttributeType, "labels.@max.text"),
    ("d_itemSizes", "Label", .integer64AttributeType, "items.@sum.size"),
    ("d_itemWeights", "Label", .decimalAttributeType, "items.@sum.weight"),
    ("d_partner", "Label", .stringAttributeType, "lowercase:(partner.text)"),
  ]

  private static func model() -> NSManagedObjectModel {
    typealias L = LibraryModel
    let node = L.entity(
      "Node", [L.attribute("name", .stringAttributeType), L.attribute("size", .integer32AttributeType)])
    let leaf = L.entity("Leaf", [L.attribute("colour", .stringAttributeType)])
    node.subentities = [leaf]
    let item = L.entity(
      "Item",
      [
        L.attribute("label", .stringAttributeType), L.attribute("size", .integer64AttributeType),
        L.attribute("weight", .decimalAttributeType),
      ])
    let label = L.entity("Label", [L.attribute("text", .stringAttributeType)])
    L.relate(
      node, "children", node, "parent", toMany: (true, false), rules: (.cascadeDeleteRule, .nullifyDeleteRule))
    L.relate(node, "friends", node, "befriended", toMany: (true, true))
    L.relate(node, "items", item, "node", toMany: (true, false))
    L.relate(item, "labels", label, "items", toMany: (true, true), ordered: true)
    L.relate(label, "partner", label, "partnerOf", toMany: (false, false))
    let model = NSManagedObjectModel()
    model.entities = [node, leaf, item, label]
    for derivation in derivations {
      let attribute = NSDerivedAttributeDescription()
      (attribute.name, attribute.attributeType) = (derivation.name, derivation.type)
      attribute.derivationExpression = NSExpression(format: derivation.format)
      model.entitiesByName[derivation.entity]?.properties.append(attribute)
    }
    return model
  }

  /// The values of all derived columns, in the order of the keys.
  private func values(_ store: ServerStore) throws -> String {
    try store.schema.tables.map { table in
      let columns = store.schema.derivedColumns.filter { $0.mapping.table == table.name }
        .map { $0.type == .decimalAttributeType ? "trim_scale(\($0.column))" : $0.column }
      return try PostgreSQLServer.shared.psql(
        "SELECT \((["_key", "_entity"] + columns).joined(separator: ", ")) FROM \(table.name) ORDER BY _key")
    }.joined(separator: "\n--\n")
  }

  /// Compares the columns with what they are if they are computed anew.
  private func expectRightValues(_ stack: StoreStack, _ comment: Comment = "") throws {
    try expectRightValues(stack.coordinator, comment)
  }

  private func expectRightValues(_ coordinator: NSPersistentStoreCoordinator, _ comment: Comment) throws {
    let store = try #require(coordinator.persistentStores[0] as? ServerStore)
    let kept = try values(store)
    let fills = ServerDerivations(store.schema, store.address).fills
    // Values that depend on others are right after as many rounds as they have steps.
    try PostgreSQLServer.shared.psql(repeatElement(fills, count: 4).joined().joined(separator: ";\n"))
    let computed = try values(store)
    let lines = zip(kept.split(separator: "\n"), computed.split(separator: "\n")).filter { $0 != $1 }
    #expect(lines.isEmpty, "\(comment) \(lines.prefix(5))")
    #expect(kept.utf8.count == computed.utf8.count, comment)
  }

  /// Makes a few random changes and saves them.
  private func step(_ context: NSManagedObjectContext, _ random: inout RandomSteps) throws {
    func some(_ entity: String) throws -> NSManagedObject? { random.pick(try context.all(entity, sort: "objectID")) }
    for _ in 0...random.next(6) {
      switch random.next(18) {
      case 0, 1: context.make("Node", ["name": random.name(), "size": random.next(100)])
      case 2: context.make("Leaf", ["name": random.name(), "size": random.next(100)])
      case 3, 4:
        context.make(
          "Item", ["label": random.name(), "size": random.next(9), "weight": NSDecimalNumber(string: "1.5")])
      case 5: context.make("Label", ["text": random.name()])
      case 6, 7: try some("Node")?.setValue(some("Node"), forKey: "parent")
      case 8: try some("Item")?.setValue(some("Node"), forKey: "node")
      case 9: try some("Item")?.setValue(some("Leaf"), forKey: "node")
      case 10:
        if let one = try some("Node"), let other = try some("Node") { one.addObject(other, toRelationship: "friends") }
      case 11:
        let members = try (0..<random.next(4)).compactMap { _ in try some("Label") }
        try some("Item")?.setValue(NSOrderedSet(array: members), forKey: "labels")
      case 12: try some("Label")?.setValue(some("Label"), forKey: "partner")
      case 13: try some("Node")?.setValue(random.next(2) == 0 ? nil : random.next(1000), forKey: "size")
      case 14:
        let item = try some("Item")
        item?.setValue(random.next(3) == 0 ? nil : NSDecimalNumber(value: random.next(50)), forKey: "weight")
        item?.setValue(random.next(3) == 0 ? nil : random.next(50), forKey: "size")
      case 15: try some("Node")?.setValue(random.next(4) == 0 ? nil : random.name(), forKey: "name")
      case 16: if random.next(2) == 0, let doomed = try some("Node") { context.delete(doomed) }
      default:
        if let doomed = try some(random.next(2) == 0 ? "Item" : "Label") { context.delete(doomed) }
      }
    }
    try context.save()
  }

  private func batch(_ context: NSManagedObjectContext, _ random: inout RandomSteps) throws {
    switch random.next(4) {
    case 0:
      let size = random.next(5)
      try context.execute(
        NSBatchInsertRequest(entityName: "Item", objects: (0..<5).map { ["label": "batch \($0)", "size": size] }))
    case 1:
      let update = NSBatchUpdateRequest(entityName: "Item")
      update.predicate = NSPredicate(format: "size < %d", random.next(20))
      let node = random.pick(try context.all("Node", sort: "objectID"))
      update.propertiesToUpdate = ["size": NSExpression(format: "size + 1"), "node": node ?? NSNull()]
      try context.execute(update)
    case 2:
      let update = NSBatchUpdateRequest(entityName: "Node")
      update.predicate = NSPredicate(format: "size > %d", random.next(60))
      update.propertiesToUpdate = ["name": random.name()]
      try context.execute(update)
    default:
      let doomed = NSFetchRequest<NSManagedObject>(entityName: random.next(2) == 0 ? "Item" : "Node")
      doomed.predicate = NSPredicate(format: "size == %d", random.next(12))
      try context.execute(NSBatchDeleteRequest(fetchRequest: doomed))
    }
    context.reset()
  }

  @Test(arguments: 0..<2) func randomSavesAndBatches(seed: Int) throws {
    let stack = try StoreStack(.server, Self.model())
    let context = stack.context()
    var random = RandomSteps(seed: seed)
    for round in 0..<20 {
      try context.performAndWait {
        for _ in 0..<3 { try step(context, &random) }
        try batch(context, &random)
      }
      if round % 5 == 4 { try expectRightValues(stack, "round \(round)") }
    }
  }

  @Test func aCopyAndARenamingMigrationComputeAllValues() throws {
    // Given a file with triggers of its own, which goes to the server.
    let file = try StoreStack(.file, Self.model())
    var random = RandomSteps(seed: 5)
    let context = file.context()
    try context.performAndWait { for _ in 0..<40 { try step(context, &random) } }
    let stack = try StoreStack(.server, Self.model())
    _ = try file.coordinator.copyContents(to: stack.coordinator)
    try expectRightValues(stack, "copied")
    // When derived attributes, what they are derived from and their entities get other names.
    try stack.coordinator.remove(stack.store)
    let newer = Self.model()
    func rename(_ property: NSPropertyDescription?, _ name: String) {
      property?.renamingIdentifier = property?.name
      property?.name = name
    }
    let (node, item) = (newer.entitiesByName["Node"], newer.entitiesByName["Item"])
    rename(item?.propertiesByName["weight"], "mass")
    rename(item?.propertiesByName["node"], "holder")
    rename(node?.propertiesByName["d_weight"], "d_mass")
    rename(node?.propertiesByName["name"], "title")
    item?.renamingIdentifier = "Item"
    item?.name = "Thing"
    for entity in newer.entities {
      for case let attribute as NSDerivedAttributeDescription in entity.properties {
        let format =
          Self.derivations.first { $0.name == (attribute.renamingIdentifier ?? attribute.name) }?.format ?? ""
        attribute.derivationExpression = NSExpression(
          format: format.replacingOccurrences(of: "weight", with: "mass").replacingOccurrences(
            of: "node.", with: "holder."
          )
          .replacingOccurrences(of: ".name", with: ".title").replacingOccurrences(of: "(name", with: "(title"))
      }
    }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: newer)
    try coordinator.addPersistentStore(
      ofType: NSPostgreSQLStoreType, configurationName: nil, at: stack.url,
      options: [NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true])
    try expectRightValues(coordinator, "migrated")
    // Then new members count, too.
    let later = stack.context(coordinator)
    try later.performAndWait {
      let node = later.make("Node", ["title": "last"])
      later.make("Thing", ["holder": node, "mass": NSDecimalNumber(value: 7)])
      try later.save()
      later.refresh(node, mergeChanges: false)
      #expect(node.value(forKey: "d_mass") as? NSDecimalNumber == 7 && node.text("d_upper") == "LAST")
    }
    try expectRightValues(coordinator, "changed after the migration")
    // And back in a file all is as it was.
    let back = try StoreStack(.file, newer)
    _ = try coordinator.copyContents(to: back.coordinator)
    try back.perform { context in
      let last = try #require(context.all("Node", where: "title == 'last'").first)
      #expect(last.value(forKey: "d_mass") as? NSDecimalNumber == 7 && last.value(forKey: "d_items") as? Int == 1)
    }
  }

  @Test(arguments: 0..<2) func coordinatorsAtTheSameTime(seed: Int) throws {
    let stack = try StoreStack(.server, Self.model())
    var random = RandomSteps(seed: seed)
    let context = stack.context()
    try context.performAndWait { for _ in 0..<10 { try step(context, &random) } }
    let others = try (0..<4).map { _ in try stack.another(Self.model()) }
    for round in 0..<3 {
      DispatchQueue.concurrentPerform(iterations: 4) { thread in
        var random = RandomSteps(seed: seed * 100 + round * 10 + thread)
        let context = others[thread].context()
        context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
        for number in 0..<12 {
          let error = context.performAndWait { () -> (any Error)? in
            do {
              if number % 6 == 5 { try batch(context, &random) } else { try step(context, &random) }
              return nil
            } catch {
              context.reset()
              return error
            }
          }
          // A row that another one has deleted meanwhile.
          if let error = error as? NSError, ![133_000, 1570, 133_020].contains(error.code) {
            Issue.record("\(error.code): \(error.localizedDescription)")
          }
        }
      }
      try expectRightValues(stack, "round \(round)")
    }
  }
}
