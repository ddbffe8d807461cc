import Testing

@testable import CoreData

/// The layouts of a model's entities live as long as the model, or as an object of them.
@Suite struct EntityLayoutTests {
  private static func model() -> NSManagedObjectModel {
    let model = NSManagedObjectModel()
    model.entities = [
      LibraryModel.entity(
        "Note", [LibraryModel.attribute("text", .stringAttributeType, default: "a default that is kept elsewhere")])
    ]
    return model
  }

  @Test func aLayoutGoesWithItsModel() throws {
    weak var layout: EntityLayout?
    weak var temporary: StoredEntity?
    weak var entity: NSEntityDescription?
    func use(_ model: NSManagedObjectModel) throws {
      let note = try #require(model.entitiesByName["Note"])
      (entity, layout, temporary) = (note, note.layout, note.layout.temporaryEntity)
      #expect(entity != nil && layout != nil && temporary != nil)
    }
    try use(Self.model())
    #expect(layout == nil && temporary == nil && entity == nil)
  }

  @Test func aLayoutGoesWithItsStore() throws {
    weak var layout: EntityLayout?
    func use(_ store: TemporaryStore) throws {
      try store.save { context in
        let note = context.make("Note")
        layout = note.layout
        #expect(note.objectID.isTemporaryID && note.text("text") == "a default that is kept elsewhere")
      }
    }
    try use(TemporaryStore(Self.model()))
    #expect(layout == nil)
  }

  @Test func anObjectThatOutlivesItsModelKeepsItsIDAndDefaultValues() throws {
    func note() throws -> NSManagedObject {
      let model = Self.model()
      return NSManagedObject(entity: try #require(model.entitiesByName["Note"]), insertInto: nil)
    }
    let note = try note()
    let id = note.objectID
    #expect(id.isTemporaryID && note.objectID == id)
    #expect(note.text("text") == "a default that is kept elsewhere")
  }
}
