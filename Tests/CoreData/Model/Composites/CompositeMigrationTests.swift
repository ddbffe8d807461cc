import Testing

@testable import CoreData

/// Lightweight migration of composite attributes.
@Suite struct CompositeMigrationTests {
  private func migrate(_ store: TemporaryStore, to model: NSManagedObjectModel) throws -> NSManagedObjectContext {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let options: [AnyHashable: Any] = [
      NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
    ]
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: store.url, options: options)
    return coordinator.context()
  }

  private func filled() throws -> TemporaryStore {
    let store = try TemporaryStore(PlacesModel.make())
    try store.save { context in
      context.make("Place", ["name": "A", "address": PlacesModel.full])
      context.make("Place", ["name": "B"])
    }
    return store
  }

  @Test func aCompositeIsAddedWithTheDefaultsOfItsElements() throws {
    let store = try TemporaryStore()
    try store.save { $0.make("Author", ["name": "Ada"]) }
    let model = LibraryModel.make()
    let address = PlacesModel.address()
    address.elements[0].defaultValue = "Rome"
    model.entitiesByName["Author"]?.properties += [address]
    let context = try migrate(store, to: model)
    try context.performAndWait {
      let ada = try context.all("Author")[0]
      #expect(CompositeValue.isEqual(ada.value(forKey: "address"), ["city": "Rome"]))
      ada.setValue(["position": ["lat": 1.0]], forKey: "address")
      try context.save()
      try #expect(context.all("Author", where: "address.position.lat == 1").count == 1)
    }
  }

  @Test func elementsAreRenamedAddedAndRemovedAndTheRestStays() throws {
    let store = try filled()
    let model = PlacesModel.make { address in
      address.renamingIdentifier = "address"
      address.name = "location"
      address.elements.removeAll { $0.name == "rent" }
      address.elements[0].renamingIdentifier = "city"
      address.elements[0].name = "town"
      let position = address.elements.last as? NSCompositeAttributeDescription
      position?.renamingIdentifier = "position"
      position?.name = "point"
      address.elements += [LibraryModel.attribute("floor", .integer16AttributeType, optional: false, default: 2)]
    }
    let context = try migrate(store, to: model)
    try context.performAndWait {
      let places = try context.all("Place", sort: "name")
      var expected = PlacesModel.full
      expected["rent"] = nil
      expected["town"] = expected.removeValue(forKey: "city")
      expected["point"] = expected.removeValue(forKey: "position")
      expected["floor"] = 2
      let location = try #require(places[0].value(forKey: "location") as? [String: Any])
      #expect(CompositeValue.isEqual(location, expected), "\(location)")
      #expect(places[1].value(forKey: "location") == nil)
    }
  }

  @Test func whatCannotBeInferredIsRefused() throws {
    let store = try filled()
    let retyped = PlacesModel.make { $0.elements[0].attributeType = .integer16AttributeType }
    expectError(134190) { try migrate(store, to: retyped) }
    let mandatory = PlacesModel.make {
      $0.elements += [LibraryModel.attribute("floor", .integer16AttributeType, optional: false)]
    }
    expectError(134190) { try migrate(store, to: mandatory) }
    let context = try migrate(store, to: PlacesModel.make())
    try context.performAndWait { try #expect(context.all("Place").count == 2) }
  }

  @Test func aStoreIsExtendedByAnOptionalComposite() throws {
    let before = PlacesModel.make()
    before.entitiesByName["Place"]?.properties.removeAll { $0.name == "address" }
    let store = try TemporaryStore(before)
    try store.save { $0.make("Place", ["name": "A"]) }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: PlacesModel.make())
    _ = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: store.url, allowing: .additions)
    let context = coordinator.context()
    try context.performAndWait {
      try context.all("Place")[0].setValue("Rome", forKeyPath: "address.city")
      try context.save()
    }
    try #expect(store.sql("SELECT ZNAME, ZADDRESS_CITY FROM ZPLACE") == [["A", "Rome"]])
  }
}
