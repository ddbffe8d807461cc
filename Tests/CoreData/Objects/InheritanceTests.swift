import CoreData
import Testing

@Suite struct InheritanceTests {
  private func store() throws -> TemporaryStore {
    let store = try TemporaryStore()
    try store.save { context in
      let author = context.make("Author", ["name": "Ada"])
      context.make("Book", ["title": "book", "pages": 1, "author": author])
      context.make("Comic", ["title": "comic", "pages": 2, "artist": "Eve", "author": author])
    }
    return store
  }

  @Test func aParentsFetchHasItsSubentitiesObjectsUnlessToldOtherwise() throws {
    try store().read { context in
      let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
      request.sortDescriptors = [NSSortDescriptor(key: "pages", ascending: true)]
      let all = try context.fetch(request)
      #expect(all.map { $0.entity.name } == ["Book", "Comic"])
      #expect(all[1].text("artist") == "Eve")
      try #expect(context.count(for: request) == 2)
      request.includesSubentities = false
      try #expect(context.fetch(request).map { $0.text("title") } == ["book"])
      try #expect(context.count(for: request) == 1)
      try #expect(context.all("Comic").map { $0.text("title") } == ["comic"])
      // The same with unsaved objects.
      context.make("Comic", ["title": "new", "pages": 3])
      try #expect(context.count(for: request) == 1)
      request.includesSubentities = true
      try #expect(context.fetch(request).map { $0.text("title") } == ["book", "comic", "new"])
    }
  }

  @Test func relationshipsLeadToTheConcreteEntity() throws {
    let store = try store()
    try store.read { context in
      let author = try context.all("Author")[0]
      #expect(Set(author.members("books").map { $0.entity.name }) == ["Book", "Comic"])
    }
    try store.save { context in
      context.delete(try context.all("Author")[0])
    }
    try #expect(store.sql("SELECT count(*) FROM ZBOOK") == [["0"]])
  }

  @Test func aToOneToAnEntityWithSubentitiesKeepsTheConcreteOne() throws {
    let owner = LibraryModel.entity("Owner", [])
    let animal = LibraryModel.entity("Animal", [LibraryModel.attribute("name", .stringAttributeType)])
    let dog = LibraryModel.entity("Dog", [LibraryModel.attribute("breed", .stringAttributeType)])
    animal.subentities = [dog]
    LibraryModel.relate(owner, "pet", animal, "owner", toMany: (false, false))
    LibraryModel.relate(dog, "enemies", animal, "enemyOf", toMany: (true, true))
    let model = NSManagedObjectModel()
    model.entities = [owner, animal, dog]
    let store = try TemporaryStore(model)
    try store.save { context in
      let dog = context.make("Dog", ["name": "Rex", "breed": "b"])
      context.make("Owner", ["pet": dog])
      dog.setValue(Set([context.make("Animal", ["name": "Tom"]), dog]), forKey: "enemies")
    }
    try store.read { context in
      let pet = try #require(context.all("Owner")[0].object("pet"))
      #expect(pet.entity.name == "Dog" && pet.objectID.entity.name == "Dog" && pet.isFault)
      #expect(pet.text("breed") == "b")
      #expect(Set(pet.members("enemies").compactMap { $0.text("name") }) == ["Rex", "Tom"])
      let tom = try context.all("Animal", where: "name == 'Tom'")[0]
      #expect(tom.members("enemyOf") == [pet])
      // The reference moves to an object of the parent entity, and the entity in the row changes with it.
      try context.all("Owner")[0].setValue(tom, forKey: "pet")
      try context.save()
    }
    try store.read { try #expect($0.all("Owner")[0].object("pet")?.entity.name == "Animal") }
  }

  @Test func anAbstractEntityCannotBeInserted() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let model = LibraryModel.make()
      model.entitiesByName["Author"]?.isAbstract = true
      let store = try TemporaryStore(model)
      store.context().performAndWaitWith { _ = $0.make("Author") }
    }
    expectSentence(result, "abstract")
  }
}
