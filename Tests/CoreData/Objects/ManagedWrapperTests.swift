import CoreData
import Testing

/// `@ManagedAttribute`, for what `@NSManaged` cannot declare.
@Suite struct ManagedWrapperTests {
  private func inContext(_ body: (Wrapped) throws -> Void) throws {
    let entity = LibraryModel.entity(
      "Wrapped",
      [
        LibraryModel.attribute("kind", .integer16AttributeType), LibraryModel.attribute("mood", .stringAttributeType),
        LibraryModel.attribute("count", .integer64AttributeType),
      ])
    entity.managedObjectClassName = "Wrapped"
    let model = NSManagedObjectModel()
    model.entities = [entity]
    try TemporaryStore(model).read { context in try body(Wrapped(context: context)) }
  }

  @Test func rawValuesAreKept() throws {
    try inContext { object in
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
    try inContext { object in
      object.setValue(99, forKey: "kind")
      object.setValue("unknown", forKey: "mood")
      #expect(object.kind == .plain && object.mood == nil)
    }
  }
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
