import CoreData
import Testing

/// An enumeration with an integer as raw value, named by the model.
public enum NestSize: Int16 { case small, large }
/// An enumeration with a string as raw value, named by the model.
public enum NestUse: String { case breeding, sleeping }

/// `Nest.xcdatamodel`: `ModelCompiler.json` makes it part of the code, and its user info controls its class.
@Suite struct EmbeddedModelTests {
  @Test func anEmbeddedModelIsNoResourceAndReadsAsItsSourceDoes() throws {
    #expect(Bundle.module.url(forResource: "Nest", withExtension: "momd") == nil)
    let model = EmbeddedModel.nest.makeModel()
    let source = Foundation.URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
      "Nest.xcdatamodel")
    let expected = try NSManagedObjectModel.load(contentsOf: source)
    #expect(model.entityVersionHashesByName == expected.entityVersionHashesByName)
    #expect(model.configurations.contains("Nests") && EmbeddedModel.nest.name == "Nest")
    let place = try #require(model.entitiesByName["Nest"]?.attributesByName["place"])
    #expect(place.defaultValue as? String == #"a \(tree) & "more""#)
    #expect(place.userInfo as? [String: String] == ["unit": "none"], "what the generator reads is left out")
    #expect(model.entitiesByName["Nest"]?.managedObjectClassName == "GeneratedClassesTests.Nest")
    // Each call makes a model of its own.
    #expect(EmbeddedModel.nest.makeModel() !== model)
  }

  @Test func propertiesHaveTheTypesOfTheModelsNotes() throws {
    let context = try Self.context()
    try context.performAndWait {
      let nest = Nest(context: context)
      // Given: what nobody set.
      #expect(nest.size == .small && nest.use == nil && nest.birds == nil && nest.builtAt == .distantPast)
      #expect(nest.place.hasPrefix("a ") && nest.contentsText == nil)

      // When: it is set and saved.
      nest.size = .large
      nest.use = .breeding
      nest.birds = 3
      nest.builtAt = Date(timeIntervalSinceReferenceDate: 1)
      nest.contentsText = "moss"
      nest.place = "a roof"
      try context.save()
      context.reset()

      // Then: it is in the attributes of the model, by their names there.
      let request = Nest.fetchRequest()
      request.predicate = NSPredicate(format: "size == 1 AND use == 'breeding' AND contents == 'moss' AND birds == 3")
      request.sortDescriptors = [NSSortDescriptor(keyPath: \Nest.contentsText, ascending: true)]
      let fetchedNest = try #require(try context.fetch(request).first)
      #expect(
        fetchedNest.size == .large && fetchedNest.use == .breeding && fetchedNest.birds == 3
          && fetchedNest.place == "a roof")
      #expect(fetchedNest.builtAt == Date(timeIntervalSinceReferenceDate: 1) && fetchedNest.contentsText == "moss")

      // A raw value that no case has, of a later version perhaps, reads as the default.
      fetchedNest.setValue(NSNumber(value: 9), forKey: "size")
      fetchedNest.setValue("hiding", forKey: "use")
      #expect(fetchedNest.size == .large && fetchedNest.use == nil)
    }
  }

  /// With the mark `isIndexed` the store would make a second index, of all rows.
  @Test func aPartialIndexIsTheOnlyOneOfItsAttribute() {
    let model = EmbeddedModel.nest.makeModel()
    let attributes = model.entitiesByName["Nest"]?.attributesByName
    #expect(attributes?["size"]?.isIndexed == true && attributes?["use"]?.isIndexed == false)
  }

  private static func context() throws -> NSManagedObjectContext {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: EmbeddedModel.nest.makeModel())
    try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return context
  }
}
