import CoreData
import FarmModel
import Testing

@Suite struct GeneratedClassesTests {
  @Test func theModelIsAResourceAndItsCurrentVersionIsTheOneThatIsMarked() throws {
    let url = try #require(Bundle.module.url(forResource: "Zoo", withExtension: "momd"))
    let model = try #require(NSManagedObjectModel(contentsOf: url))
    #expect(model.versionIdentifiers == ["2"])
    #expect(model.entitiesByName["Animal"]?.managedObjectClassName == "GeneratedClassesTests.Animal")
    #expect(model.entitiesByName["URL"]?.managedObjectClassName == "URL")
    let old = try #require(Bundle.module.url(forResource: "Zoo", withExtension: "mom", subdirectory: "Zoo.momd"))
    #expect(NSManagedObjectModel(contentsOf: old)?.entities.map(\.name) == ["Animal"])
    #expect(try NSManagedObjectModel.checksumsForVersionedModel(at: url).keys.sorted() == ["Zoo", "Zoo 2"])
    #expect(NSManagedObjectModel.mergedModel(from: [Bundle.module])?.entitiesByName["Keeper"] != nil)
  }

  @Test func aCompositeAttributeIsADictionary() throws {
    let stack = try ZooStack()
    try stack.perform { context in
      let animal = Animal(context: context)
      #expect(animal.cage?["house"] as? String == "A" && animal.cage?.count == 1)
      animal.cage = ["house": "B", "place": ["row": 3]]
      try context.save()
    }
    try stack.perform { context in
      let request: NSFetchRequest<Animal> = Animal.fetchRequest()
      request.predicate = NSPredicate(format: "cage.place.row == 3")
      let animal = try #require(try context.fetch(request).first)
      #expect(animal.cage?["house"] as? String == "B")
      #expect((animal.cage?["place"] as? [String: Any])?["row"] as? Int == 3)
      animal.cage = nil
      try context.save()
      try #expect(context.fetch(request).isEmpty)
    }
  }

  @Test func everyAttributeTypeKeepsItsValueThroughTheFile() throws {
    let stack = try ZooStack()
    let id = UUID()
    let born = Date(timeIntervalSinceReferenceDate: 1000.25)
    try stack.perform { context in
      let animal = Animal(context: context)
      #expect((animal.genes, animal.legs, animal.isTame) == (7, 4, false))
      #expect(animal.age == nil && animal.likesWater == nil && animal.length == nil && animal.seen == 0)
      animal.id = id
      animal.name = "Ada"
      animal.age = 3
      animal.born = born
      animal.genes = .max
      animal.height = 1.5
      animal.isTame = true
      animal.legs = .min
      animal.length = 0.1
      animal.likesWater = false
      animal.link = Foundation.URL(string: "https://example.org/ada")
      animal.photo = Data([1, 2, 3])
      animal.price = NSDecimalNumber(string: "12.34")
      animal.seen = 500.5
      animal.spots = -101
      animal.weight = 99.75
      try context.save()
    }
    try stack.perform { context in
      let animal = try #require(try context.fetch(Animal.fetchRequest()).first)
      #expect(animal.id == id && animal.name == "Ada" && animal.age == 3 && animal.born == born)
      #expect(animal.genes == .max && animal.height == 1.5 && animal.isTame && animal.legs == .min)
      #expect(animal.length == 0.1 && animal.likesWater == false)
      #expect(animal.link?.absoluteString == "https://example.org/ada" && animal.photo == Data([1, 2, 3]))
      #expect(animal.price == NSDecimalNumber(string: "12.34") && animal.seen == 500.5)
      #expect(animal.spots == -101 && animal.weight == 99.75)
      #expect(animal.value(forKey: "seen") as? Date == Date(timeIntervalSinceReferenceDate: 500.5))
      animal.name = nil
      animal.age = nil
      animal.born = nil
      animal.photo = nil
      animal.link = nil
      animal.price = nil
      animal.likesWater = nil
      try context.save()
      context.refresh(animal, mergeChanges: false)
      #expect(animal.name == nil && animal.age == nil && animal.born == nil && animal.photo == nil)
      #expect(animal.link == nil && animal.price == nil && animal.likesWater == nil)
    }
  }

  @Test func classesInheritAsTheirEntitiesDoAndExtensionsServeAClassWrittenByHand() throws {
    let stack = try ZooStack()
    try stack.perform { context in
      let keeper = Keeper(context: context)
      #expect(keeper.name == "somebody" && !keeper.isBusy)
      keeper.habits = NSString("early")
      keeper.hobbies = NSArray(array: ["chess"])
      let being: Being = keeper
      being.name = "Karl"
      let animal = Animal(context: context)
      animal.name = "Karl"
      animal.keeper = keeper
      animal.ticket = NSEntityDescription.insertNewObject(forEntityName: "Ticket", into: context)
      try context.save()
      #expect(keeper.animals?.array as? [Animal] == [animal])
      #expect(keeper.namesakes == [animal])
      let all = try context.fetch(NSFetchRequest<Being>(entityName: "Being"))
      #expect(all.count == 2)
      #expect(all.contains { $0 is Animal } && all.contains { $0 is Keeper })
    }
    try stack.perform { context in
      let keeper = try #require(try context.fetch(Keeper.fetchRequest()).first)
      #expect(keeper.animalCount == 1)
      #expect(keeper.habits as? String == "early" && keeper.hobbies == NSArray(array: ["chess"]))
    }
  }

  @Test func toManyMutatorsKeepTheInverse() throws {
    let stack = try ZooStack()
    try stack.perform { context in
      let animals = ["a", "b", "c", "d"].map { name in
        let animal = Animal(context: context)
        animal.name = name
        return animal
      }
      let (a, b, c, d) = (animals[0], animals[1], animals[2], animals[3])
      a.addToFriends(b)
      a.addToFriends(NSSet(array: [c]))
      a.addToFriends([d])
      #expect(a.friends == NSSet(array: [b, c, d]) && b.friends == NSSet(array: [a]))
      a.removeFromFriends(b)
      a.removeFromFriends(NSSet(array: [c]))
      #expect(a.friends == NSSet(array: [d]) && b.friends?.count == 0)

      let keeper = Keeper(context: context)
      func names() -> String { (keeper.animals?.array as? [Animal] ?? []).compactMap(\.name).joined() }
      keeper.addToAnimals([a, b])
      keeper.insertIntoAnimals(c, at: 0)
      #expect(names() == "cab" && c.keeper === keeper)
      keeper.insertIntoAnimals([d], at: NSIndexSet(index: 2))
      #expect(names() == "cadb")
      keeper.removeFromAnimals(at: 1)
      #expect(names() == "cdb" && a.keeper == nil)
      keeper.replaceAnimals(at: 0, with: a)
      #expect(names() == "adb" && c.keeper == nil)
      keeper.replaceAnimals(at: NSIndexSet(indexesIn: NSRange(location: 1, length: 2)), with: [c, d])
      #expect(names() == "acd" && b.keeper == nil)
      keeper.removeFromAnimals(at: NSIndexSet(indexesIn: NSRange(location: 0, length: 2)))
      keeper.addToAnimals(b)
      keeper.removeFromAnimals(NSOrderedSet(array: [d]))
      #expect(names() == "b")
      try context.save()
      keeper.insertIntoAnimals([a, c], at: NSIndexSet(indexesIn: NSRange(location: 0, length: 2)))
      keeper.removeFromAnimals(c)
      try context.save()
      context.refreshAllObjects()
      #expect(names() == "ab")
    }
  }

  @Test func namesThatSwiftUsesAreOrdinaryNames() throws {
    let stack = try ZooStack()
    try stack.perform { context in
      let url = URL(context: context)
      let other = URL(context: context)
      url.default = Foundation.URL(string: "a:b")
      url.in = true
      url.protocol = "p"
      url.state = "s"
      url.key = "k"
      url.Type = "T"
      url.addToExtension(other)
      try context.save()
      #expect(other.super === url && url.in && url.default?.scheme == "a" && url.Type == "T")
    }
  }

  @Test func anIdentifiableObjectHasItsAttributeAsID() {
    func isIdentifiedBy<T: Identifiable>(_ type: T.Type) -> T.ID.Type { T.ID.self }
    #expect(isIdentifiedBy(Animal.self) == UUID?.self)
    #expect(isIdentifiedBy(URL.self) == ObjectIdentifier.self)
  }

  @Test func keyPathsOfPropertiesServeSortingAndPredicates() throws {
    let stack = try ZooStack()
    try stack.perform { context in
      let keeper = Keeper(context: context)
      for (name, legs) in [("a", Int16(2)), ("b", 4), ("c", 3)] {
        let animal = Animal(context: context)
        animal.name = name
        animal.legs = legs
        keeper.addToAnimals(animal)
      }
      try context.save()
      let request: NSFetchRequest<Animal> = Animal.fetchRequest()
      request.sortDescriptors = [NSSortDescriptor(keyPath: \Animal.legs, ascending: false)]
      #expect(try context.fetch(request).compactMap(\.name) == ["b", "c", "a"])
      #expect(NSExpression(forKeyPath: \Animal.keeper?.name).keyPath == "keeper.name")
      #expect(NSExpression(forKeyPath: \Being.id).keyPath == "id")
      #expect(NSExpression(forKeyPath: \URL.default).keyPath == "default")
      #expect(NSExpression(forKeyPath: \Keeper.animals).keyPath == "animals")
    }
  }

  @Test func classesOfOneNameInTwoModulesServeTheModelOfTheirModule() throws {
    let zoo = try ZooStack()
    let farm = NSPersistentContainer(name: "Farm", managedObjectModel: try #require(Farm.model()))
    farm.persistentStoreDescriptions = [NSPersistentStoreDescription()]
    farm.loadPersistentStores { #expect($1 == nil) }
    let context = farm.newBackgroundContext()
    try context.performAndWait {
      let stable = Stable(context: context)
      let animal = FarmModel.Animal(context: context)
      stable.addToAnimals(animal)
      stable.number = 5
      try context.save()
      #expect(animal.stable?.number == 5)
      let fetched = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Animal"))
      #expect(fetched.first is FarmModel.Animal)
    }
    try zoo.perform { context in
      let animal = NSEntityDescription.insertNewObject(forEntityName: "Animal", into: context)
      #expect(animal is GeneratedClassesTests_Animal)
    }
  }
}

typealias GeneratedClassesTests_Animal = Animal
