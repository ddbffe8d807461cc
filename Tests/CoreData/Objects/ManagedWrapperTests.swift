import CoreData
import Testing

/// `@ManagedAttribute`, for what `@NSManaged` cannot declare.
@Suite struct ManagedWrapperTests {
  private func inContext<Object: NSManagedObject>(
    className: String = NSStringFromClass(Object.self), _ body: (Object) throws -> Void
  ) throws {
    let entity = LibraryModel.entity(
      "Wrapped",
      [
        LibraryModel.attribute("kind", .integer16AttributeType), LibraryModel.attribute("mood", .stringAttributeType),
        LibraryModel.attribute("count", .integer64AttributeType),
      ])
    entity.managedObjectClassName = className
    let model = NSManagedObjectModel()
    model.entities = [entity]
    try TemporaryStore(model).read { context in try body(#require(context.make("Wrapped") as? Object)) }
  }

  @Test func rawValuesAreKept() throws {
    try inContext { (object: Wrapped) in
      #expect(object.kind == .plain && object.mood == nil && object.count == nil)
      object.kind = .starred
      object.mood = .good
      object.count = 3
      #expect(object.kind == .starred && object.mood == .good && object.count == 3)
      #expect(object.value(forKey: "kind") as? Int16 == 7 && object.text("mood") == "good")
      try object.managedObjectContext?.save()
      object.managedObjectContext?.refreshAllObjects()
      #expect(object.kind == .starred && object.mood == .good && object.count == 3)
      object.mood = nil
      #expect(object.value(forKey: "mood") == nil)
    }
  }

  @Test func rawValuesThatStandForNothingAreNilOrTheDefault() throws {
    try inContext { (object: Wrapped) in
      object.setValue(99, forKey: "kind")
      object.setValue("unknown", forKey: "mood")
      #expect(object.kind == .plain && object.mood == nil)
    }
  }

  /// Many programs have a protocol `Managed`, as a well-known book has it.
  @Test func aProtocolOfTheWrappersFormerNameIsTheProgramsOwn() throws {
    try inContext { (object: Described) in
      object.mood = "good"
      let context = try #require(object.managedObjectContext)
      try #expect(Described.fetch(in: context) { $0.predicate = NSPredicate(format: "mood == 'good'") } == [object])
    }
  }

  @Test func theFormerNameStillWorksInsideOfClasses() throws {
    try inContext(className: "Former") { (object: NSManagedObject) in
      object.setValue("bad", forKey: "mood")
      #expect((object as? any FormerlyWrapped)?.mood == .bad)
    }
  }
}

protocol Managed: AnyObject, NSFetchRequestResult {
  static var defaultSortDescriptors: [NSSortDescriptor] { get }
}

extension Managed where Self: NSManagedObject {
  static func fetch(
    in context: NSManagedObjectContext, configuring configure: (NSFetchRequest<Self>) -> Void
  ) throws -> [Self] {
    let request = NSFetchRequest<Self>(entityName: "Wrapped")
    request.sortDescriptors = defaultSortDescriptors
    configure(request)
    return try context.fetch(request)
  }
}

final class Described: NSManagedObject, Managed {
  static var defaultSortDescriptors: [NSSortDescriptor] { [NSSortDescriptor(key: "count", ascending: true)] }
  @ManagedAttribute("mood") var mood: String?
}

protocol FormerlyWrapped { var mood: Wrapped.Mood? { get } }

@available(*, deprecated)
final class Former: NSManagedObject, FormerlyWrapped {
  @Managed("mood") var mood: Wrapped.Mood?
}

final class Wrapped: NSManagedObject {
  enum Kind: Int16 {
    case plain = 1
    case starred = 7
  }
  enum Mood: String { case good, bad }

  @ManagedAttribute("kind", default: .plain) var kind: Kind
  @ManagedAttribute("mood") var mood: Mood?
  @ManagedAttribute("count") var count: Int?
}
