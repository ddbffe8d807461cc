import CoreData
import Testing

/// A save of some changes, by a request.
@Suite struct SaveRequestTests {
  @Test func aRequestSavesTheObjectsThatItNamesAndNoOthers() throws {
    let store = try TemporaryStore()
    let ids = try store.save { context in ["a", "b", "c"].map { context.make("Tag", ["label": $0]) } }.map(\.objectID)
    try store.read { context in
      let tags = try ids.map { try context.existingObject(with: $0) }
      let (new, other) = (context.make("Tag", ["label": "new"]), context.make("Tag", ["label": "other"]))
      tags[0].setValue("A", forKey: "label")
      tags[1].setValue("B", forKey: "label")
      context.delete(tags[2])
      let request = NSSaveChangesRequest(inserted: [new], updated: [tags[0]], deleted: [tags[2]], locked: nil)
      let result = try store.coordinator.execute(request, with: context)
      #expect((result as? [Any])?.isEmpty == true)
      #expect(!new.isInserted && !new.objectID.isTemporaryID && !tags[0].isUpdated)
      #expect(context.insertedObjects == [other] && context.updatedObjects == [tags[1]])
      #expect(context.deletedObjects.isEmpty)
      try #expect(store.sql("SELECT ZLABEL FROM ZTAG ORDER BY 1") == [["A"], ["b"], ["new"]])
      try context.execute(NSSaveChangesRequest(inserted: [other], updated: [tags[1]], deleted: nil, locked: nil))
      #expect(!context.hasChanges)
    }
    try #expect(store.sql("SELECT ZLABEL FROM ZTAG ORDER BY 1") == [["A"], ["B"], ["new"], ["other"]])
  }

  @Test func aRequestThatNamesOtherObjectsIsAnError() throws {
    let store = try TemporaryStore()
    try store.read { context in
      let new = context.make("Tag")
      let wrong = NSSaveChangesRequest(inserted: nil, updated: nil, deleted: [new], locked: nil)
      expectError(134030) { try context.execute(wrong) }
      #expect(context.insertedObjects == [new])
    }
  }

  @Test func aConflictIsAnErrorAndChangesNothing() throws {
    let store = try TemporaryStore()
    let id = try store.save { $0.make("Tag", ["label": "a"]) }.objectID
    try store.read { context in
      let tag = try context.existingObject(with: id)
      tag.setValue("mine", forKey: "label")
      try store.save { $0.object(with: id).setValue("theirs", forKey: "label") }
      let request = NSSaveChangesRequest(inserted: nil, updated: [tag], deleted: nil, locked: nil)
      expectError(133020) { try context.execute(request) }
      #expect(tag.isUpdated && tag.text("label") == "mine")
    }
  }
}
