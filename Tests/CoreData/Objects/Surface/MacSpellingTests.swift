import CoreData
import TestFiles
import Testing

/// Spellings that compile on a Mac and did not here.
@Suite("Spellings of a Mac's programs") struct MacSpellingTests {
  @Test("An initialiser is overridden without required, and called on a metatype")
  func initialisers() throws {
    let store = try TemporaryStore()
    try store.read { context in
      let entity = try #require(NSEntityDescription.entity(forEntityName: "Tag", in: context))
      #expect(Ticket(entity: entity, insertInto: nil).origin == "override")
      #expect(Ticket.made(entity, in: context).origin == "override")
      #expect(Ticket.madeByClass(entity, in: context).isInserted)
      #expect(Ticket(making: entity, in: context).isInserted)
      let type: NSManagedObject.Type = Ticket.self
      #expect(type.init(entity: entity, insertInto: context).entity.name == "Tag")
    }
  }

  @Test("A request is made one of another type of results")
  func requests() throws {
    let store = try TemporaryStore()
    try store.save { $0.make("Tag", ["label": "a"]) }
    let typed = NSFetchRequest<NSManagedObject>(entityName: "Tag")
    typed.predicate = NSPredicate(format: "label == 'a'")
    let erased = NSFetchRequest<any NSFetchRequestResult>(typed)
    erased.resultType = .managedObjectIDResultType
    try store.read { context in
      try #expect(context.fetch(erased).count == 1)
      try #expect(context.fetch(NSFetchRequest<NSManagedObjectID>(erased)).count == 1)
      try #expect(context.fetch(typed).first?.text("label") == "a")
    }
  }

  @Test("IDs and coordinators are made of nothing")
  func placeholders() {
    let (one, other) = (NSManagedObjectID(), NSManagedObjectID())
    #expect(one == one && one != other && one.isTemporaryID && one.persistentStore == nil)
    #expect(one.uriRepresentation() != other.uriRepresentation())
    #expect(NSPersistentStoreCoordinator().persistentStores.isEmpty)
  }

  @Test("A computed property answers by its name: values and predicates")
  func computed() throws {
    let model = LibraryModel.make()
    model.entitiesByName["Tag"]?.managedObjectClassName = "Ticket"
    let store = try TemporaryStore(model)
    try store.read { context in
      let tags = ["b", "a"].map { context.make("Tag", ["label": $0]) }
      tags[0].setValue("c", forKey: "shouted")
      #expect(tags.map { $0.value(forKey: "shouted") as? String } == ["C", "A"])
      #expect(NSPredicate(format: "shouted == 'C'").evaluate(with: tags[0]))
    }
  }
}

protocol Making: NSManagedObject {}

extension Making {
  init(making entity: NSEntityDescription, in context: NSManagedObjectContext) {
    self.init(entity: entity, insertInto: context)
  }

  static func made(_ entity: NSEntityDescription, in context: NSManagedObjectContext) -> Self {
    Self(entity: entity, insertInto: context)
  }
}

extension NSManagedObject {
  fileprivate class func madeByClass(_ entity: NSEntityDescription, in context: NSManagedObjectContext) -> Self {
    self.init(entity: entity, insertInto: context)
  }
}

final class Ticket: NSManagedObject, Making {
  private(set) var origin = "none"

  override init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
    super.init(entity: entity, insertInto: context)
    origin = "override"
  }

  override func value(forUndefinedKey key: String) -> Any? {
    key == "shouted" ? text("label")?.uppercased() : super.value(forUndefinedKey: key)
  }

  override func setValue(_ value: Any?, forUndefinedKey key: String) {
    if key == "shouted" { setValue(value, forKey: "label") } else { super.setValue(value, forUndefinedKey: key) }
  }
}
