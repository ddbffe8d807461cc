import Foundation
import Testing

@testable import CoreData

@Suite("Model descriptions") struct ModelDescriptionTests {
  @Test("A subentity has its superentity's properties, and its own override them") func inheritance() {
    let animal = Build.entity("Animal", Build.attribute("name"), Build.attribute("legs", .integer16AttributeType))
    let dog = Build.entity("Dog", Build.attribute("breed"))
    animal.subentities = [dog]

    #expect(dog.superentity === animal)
    #expect(dog.properties.map(\.name) == ["name", "legs", "breed"])
    #expect(dog.attributesByName["name"] === animal.attributesByName["name"])
    #expect(dog.attributesByName["name"]?.entity === animal)
    #expect(animal.propertiesByName["breed"] == nil)

    dog.properties = [Build.attribute("name", .URIAttributeType)]
    #expect(dog.properties.count == 2)
    #expect(dog.attributesByName["name"]?.attributeType == .URIAttributeType)
  }

  @Test("Appending to a subentity's properties leaves the inherited ones where they are") func appending() {
    let animal = Build.entity("Animal", Build.attribute("name"))
    let dog = Build.entity("Dog")
    animal.subentities = [dog]
    dog.properties.append(Build.attribute("breed"))
    #expect(dog.declaredProperties.map(\.name) == ["breed"])
    #expect(animal.attributesByName["name"]?.entity === animal)
  }

  @Test("Defaults are Apple's") func defaults() {
    let attribute = NSAttributeDescription()
    #expect(attribute.isOptional && !attribute.isTransient && attribute.type == .undefined)
    attribute.type = .date
    #expect(attribute.attributeType == .dateAttributeType && attribute.attributeValueClassName == "NSDate")
    let relationship = NSRelationshipDescription()
    #expect(relationship.isToMany && relationship.deleteRule == .nullifyDeleteRule)
    relationship.maxCount = 1
    #expect(!relationship.isToMany)
    let entity = NSEntityDescription()
    #expect(entity.managedObjectClassName == "NSManagedObject" && !entity.isAbstract)
    entity.name = "Person"
    #expect(entity.renamingIdentifier == "Person")
  }

  @Test("An entity that a model took and left without one can be left out by the first model") func ownerGone() {
    let entity = Build.entity("Note")
    let model = Build.model(entity)
    do { _ = Build.model(entity) }
    #expect(entity.model == nil)
    model.entities = []
    #expect(model.entities.isEmpty)
  }

  @Test("Coordinators that begin to use one model at once find all ends of its relationships") func usedAtOnce() {
    for _ in 0..<20 {
      guard let model = LibraryModel.make().copy() as? NSManagedObjectModel else { return }
      DispatchQueue.concurrentPerform(iterations: 4) { _ in model.freeze() }
      let relationships = model.entities.flatMap { $0.relationshipsByName.values }
      #expect(!relationships.isEmpty && relationships.allSatisfy { $0.inverseRelationship?.inverseRelationship === $0 })
    }
  }

  @Test("A copy of a fetched property has a request of its own") func copiedFetchedProperty() throws {
    let property = NSFetchedPropertyDescription("namesakes", NSFetchRequest(entityName: "Author"))
    let copy = try #require(property.copy() as? NSFetchedPropertyDescription)
    copy.fetchRequest?.fetchLimit = 5
    #expect(property.fetchRequest?.fetchLimit == 0)
    #expect(copy.fetchRequest?.entityName == "Author")
  }

  @Test("A model of copied entities has relationships of its own, without the original")
  func copiedRelationships() throws {
    func copied() -> (NSManagedObjectModel, [NSEntityDescription?]) {
      let author = Build.entity("Author", Build.attribute("name"))
      let book = Build.entity("Book", Build.attribute("title"))
      Build.relate(author, "books", toMany: true, to: book, inverse: "author", inverseToMany: false)
      let original = Build.model(author, book)
      original.freeze()
      let copy = NSManagedObjectModel()
      copy.entities = original.entities.compactMap { entity in
        let copy = NSEntityDescription()
        copy.name = entity.name
        copy.properties = entity.properties.compactMap { $0.copy() as? NSPropertyDescription }
        return copy
      }
      let other = NSManagedObjectModel()
      other.entities = original.entities.compactMap { $0.copy() as? NSEntityDescription }
      #expect(other.entitiesByName["Author"]?.relationshipsByName["books"]?.destinationEntity === other.entities[1])
      return (copy, other.entities)
    }
    let (model, _) = copied()
    let (author, book) = (try #require(model.entitiesByName["Author"]), try #require(model.entitiesByName["Book"]))
    for isFrozen in [false, true] {
      if isFrozen { model.freeze() }
      let books = try #require(author.relationshipsByName["books"])
      #expect(books.destinationEntity === book && books.inverseRelationship === book.relationshipsByName["author"])
      #expect(books.inverseRelationship?.inverseRelationship === books)
      #expect(author.relationships(forDestination: book) == [books])
    }
  }

  @Test("A copy of a relationship leads to the original's ends until it is in a model, and can be set")
  func copies() throws {
    let author = Build.entity("Author")
    let book = Build.entity("Book")
    Build.relate(author, "books", toMany: true, to: book, inverse: "author", inverseToMany: false)
    let model = Build.model(author, book)
    let copy = try #require(author.relationshipsByName["books"]?.copy() as? NSRelationshipDescription)
    #expect(copy.destinationEntity === book && copy.inverseRelationship === book.relationshipsByName["author"])
    copy.inverseRelationship = nil
    #expect(copy.inverseRelationship == nil && copy.destinationEntity === book)
    copy.destinationEntity = author
    #expect(copy.destinationEntity === author)
    withExtendedLifetime(model) {}
  }

  @Test("Lookups give the same before and after the model is frozen") func lookups() {
    let animal = Build.entity("Animal", Build.attribute("name"))
    let dog = Build.entity("Dog", Build.attribute("breed"))
    animal.subentities = [dog]
    Build.relate(animal, "friends", toMany: true, to: dog, inverse: "friendOf", inverseToMany: true)
    let model = Build.model(animal, dog)
    let before = dog.propertiesByName
    model.freeze()
    model.freeze()
    #expect(dog.propertiesByName == before)
    #expect(dog.relationshipsByName.count == 2)
    #expect(dog.isKindOf(entity: animal) && !animal.isKindOf(entity: dog))
    #expect(model.entitiesByName["Dog"] === dog)
    #expect(!model.isEditable && !dog.isEditable)
  }

  @Test("Editing a frozen model traps with a sentence, wherever the edit is", arguments: [0, 1, 2, 3, 4])
  func frozen(edit: Int) async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [edit] in
      let entity = Build.entity("Person", Build.attribute("name"))
      let index = NSFetchIndexDescription(name: "byName", elements: nil)
      entity.indexes = [index]
      let model = Build.model(entity)
      model.freeze()
      switch edit {
      case 0: model.entities = []
      case 1: entity.name = "Human"
      case 2: entity.attributesByName["name"]?.isOptional = false
      case 3: entity.properties = []
      default: index.name = "byFirstName"
      }
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("cannot be changed once a coordinator uses"))
  }

  @Test("A copy of a frozen model may be edited and is wired among its own entities") func copying() throws {
    let author = Build.entity("Author", Build.attribute("name"))
    let book = Build.entity("Book", Build.attribute("title"))
    let novel = Build.entity("Novel")
    book.subentities = [novel]
    book.uniquenessConstraints = [["title"]]
    Build.relate(author, "books", toMany: true, to: book, inverse: "author", inverseToMany: false)
    let model = Build.model(author, book, novel)
    model.setEntities([book, novel], forConfigurationName: "Books")
    model.versionIdentifiers = ["7"]
    model.freeze()

    let copy = try #require(model.copy() as? NSManagedObjectModel)

    let copiedBook = try #require(copy.entitiesByName["Book"])
    let copiedAuthor = try #require(copy.entitiesByName["Author"])
    #expect(copiedBook !== book && copiedBook.managedObjectModel === copy)
    #expect(copiedBook.relationshipsByName["author"]?.destinationEntity === copiedAuthor)
    #expect(copiedBook.relationshipsByName["author"]?.inverseRelationship === copiedAuthor.relationshipsByName["books"])
    #expect(copy.entitiesByName["Novel"]?.superentity === copiedBook)
    #expect(copy.entities(forConfigurationName: "Books")?.count == 2)
    #expect(copy.versionIdentifiers == ["7"])
    #expect(copy.entityVersionHashesByName == model.entityVersionHashesByName)
    copiedBook.attributesByName["title"]?.isOptional = false
    #expect(book.attributesByName["title"]?.isOptional == true)
  }

  @Test("Nothing of a model outlives it, whatever its entities refer to") func lifetime() {
    weak var entity: NSEntityDescription?
    weak var model: NSManagedObjectModel?
    do {
      let person = Build.entity("Person", Build.attribute("name"))
      Build.relate(person, "friends", toMany: true, to: person, inverse: "friendOf", inverseToMany: true)
      let fetched = NSFetchedPropertyDescription()
      fetched.name = "namesakes"
      fetched.fetchRequest = NSFetchRequest(entityName: "Person")
      fetched.fetchRequest?.entity = person
      person.properties.append(fetched)
      let built = Build.model(person)
      built.setFetchRequestTemplate(fetched.fetchRequest, forName: "all")
      built.freeze()
      entity = person
      model = built
    }
    #expect(model == nil)
    #expect(entity == nil)
  }

  @Test("Iterating over a model gives entities, over an entity properties") func iteration() {
    let model = Build.model(Build.entity("A", Build.attribute("x")), Build.entity("B"))
    #expect(model.map(\.name) == ["A", "B"])
    #expect(model.entities[0].map(\.name) == ["x"])
  }
}

@Suite("Merging models") struct ModelMergingTests {
  @Test("Entities of several models come together; equal ones once") func merging() throws {
    let shared = Build.entity("Tag", Build.attribute("name"))
    let first = Build.model(Build.entity("Person", Build.attribute("name")), shared)
    first.versionIdentifiers = ["1"]
    let second = Build.model(Build.entity("Place"), Build.entity("Tag", Build.attribute("name")))
    second.versionIdentifiers = ["2"]
    second.setEntities(second.entities, forConfigurationName: "Places")

    let merged = try #require(NSManagedObjectModel(byMerging: [first, second]))

    #expect(Set(merged.entitiesByName.keys) == ["Person", "Tag", "Place"])
    #expect(merged.entities.count == 3)
    #expect(merged.versionIdentifiers == ["1", "2"])
    #expect(merged.entities(forConfigurationName: "Places")?.count == 2)
    #expect(first.entities.count == 2 && shared.managedObjectModel === first)
  }

  @Test("Two versions of one entity do not merge") func conflict() {
    let first = Build.model(Build.entity("Person", Build.attribute("name")))
    let second = Build.model(Build.entity("Person", Build.attribute("name", .URIAttributeType)))
    #expect(NSManagedObjectModel(byMerging: [first, second]) == nil)
  }

  @Test("A store's metadata picks the versions that it was made with") func forMetadata() throws {
    let old = Build.model(Build.entity("Person", Build.attribute("name")))
    let new = Build.model(
      Build.entity("Person", Build.attribute("name"), Build.attribute("age", .integer16AttributeType)))
    let metadata = StoreMetadata.newFile(entities: new.entities, identifiers: [])

    let merged = try #require(NSManagedObjectModel(byMerging: [old, new], forStoreMetadata: metadata))

    #expect(merged.entityVersionHashesByName == new.entityVersionHashesByName)
    #expect(new.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
    #expect(!old.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
    #expect(NSManagedObjectModel(byMerging: [old], forStoreMetadata: metadata) == nil)
    #expect(StoredVersionHashes(metadata)?.differences(from: old.entities) == ["Person"])
  }

  @Test("A store with an entity that the model lacks is not compatible") func extraEntity() {
    let person = Build.entity("Person")
    let metadata = StoreMetadata.newFile(entities: [person, Build.entity("Place")], identifiers: [])
    let model = Build.model(person)
    #expect(!model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
  }
}
