import CoreData
import Testing

/// Transient attributes keep a value until their object is read again, and have their default then.
@Suite struct TransientValueTests {
  private func store(default value: Any?) throws -> (TemporaryStore, NSManagedObjectID) {
    let car = LibraryModel.entity(
      "Car",
      [
        LibraryModel.attribute("plate", .stringAttributeType),
        LibraryModel.attribute(
          "speed", .integer32AttributeType, optional: false, default: value, transient: true),
      ])
    let model = NSManagedObjectModel()
    model.entities = [car]
    let store = try TemporaryStore(model)
    let id = try store.save { $0.make("Car", ["plate": "One", "speed": 50]) }.objectID
    return (store, id)
  }

  private func speed(_ car: NSManagedObject) -> Int? { car.value(forKey: "speed") as? Int }

  @Test func aTransientHasItsDefaultAfterARefreshAFetchAndAMerge() throws {
    let (store, id) = try store(default: 7)
    try store.read { context in
      let car = try context.existingObject(with: id)
      #expect(speed(car) == 7)
      car.setValue(50, forKey: "speed")
      try context.save()
      #expect(speed(car) == 50)
      context.refreshAllObjects()
      #expect(speed(car) == 7)
      car.setValue(60, forKey: "speed")
      context.refresh(car, mergeChanges: false)
      #expect(speed(car) == 7)
      try store.save { $0.object(with: id).setValue("theirs", forKey: "plate") }
      NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [NSUpdatedObjectIDsKey: [id]], into: [context])
      #expect(speed(car) == 7 && car.text("plate") == "theirs")
      car.setValue("Two", forKey: "plate")
      try context.save()
      context.reset()
      let fetched = try context.all("Car")[0]
      #expect(speed(fetched) == 7)
      fetched.setValue("Three", forKey: "plate")
      try context.save()
    }
    try #expect(store.sql("SELECT ZPLATE FROM ZCAR") == [["Three"]])
  }

  @Test func aMandatoryTransientWithoutDefaultDoesNotStopTheSaveOfAFetchedObject() throws {
    let (store, id) = try store(default: nil)
    try store.read { context in
      let car = context.object(with: id)
      car.setValue("Two", forKey: "plate")
      try context.save()
      // A new object needs a value, and so does one that got nil.
      car.setValue(3, forKey: "speed")
      try context.save()
      car.setValue(nil, forKey: "speed")
      expectError(CocoaError.Code.validationMissingMandatoryProperty.rawValue) { try context.save() }
      context.rollback()
      context.make("Car")
      expectError(CocoaError.Code.validationMissingMandatoryProperty.rawValue) { try context.save() }
    }
  }

  @Test func aChildsFetchGivesTransientsTheirDefaults() throws {
    let (store, id) = try store(default: 7)
    let parent = store.context()
    let child = parent.child()
    try parent.performAndWait {
      let car = try parent.existingObject(with: id)
      car.setValue(50, forKey: "speed")
      try child.performAndWait {
        let mine = try child.all("Car")[0]
        #expect(speed(mine) == 7)
        // A save takes the child's value to the parent.
        mine.setValue(20, forKey: "speed")
        try child.save()
        #expect(speed(mine) == 20)
      }
      #expect(speed(car) == 20)
      // The child's default is no change: its save leaves the parent's value alone.
      try child.performAndWait {
        child.reset()
        let mine = try child.all("Car")[0]
        #expect(speed(mine) == 7)
        mine.setValue("Two", forKey: "plate")
        try child.save()
      }
      #expect(speed(car) == 20 && car.text("plate") == "Two")
    }
  }

  @Test func aChildsFetchGivesATransientWithoutDefaultNoValue() throws {
    let (store, id) = try store(default: nil)
    let parent = store.context()
    let child = parent.child()
    try parent.performAndWait {
      let car = try parent.existingObject(with: id)
      car.setValue(50, forKey: "speed")
      try child.performAndWait { try #expect(speed(child.all("Car")[0]) == nil) }
      #expect(speed(car) == 50)
    }
  }
}
