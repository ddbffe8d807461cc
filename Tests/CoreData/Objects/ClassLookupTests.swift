import Foundation
import Testing

@testable import CoreData

/// A class is found by the name in the model.
@Suite struct ClassLookupTests {
  private func model(_ classNames: [String: String], abstract: Set<String> = []) -> NSManagedObjectModel {
    let model = NSManagedObjectModel()
    model.entities = classNames.map { name, className in
      let entity = LibraryModel.entity(
        name,
        [LibraryModel.attribute("title", .stringAttributeType), LibraryModel.attribute("stamp", .stringAttributeType)])
      entity.managedObjectClassName = className
      entity.isAbstract = abstract.contains(name)
      return entity
    }
    return model
  }

  private func classOfInserted(_ entity: String, className: String) throws -> NSManagedObject.Type {
    let store = try TemporaryStore(model([entity: className]))
    return try store.read { type(of: $0.make(entity)) }
  }

  @Test func aClassIsFoundWithAndWithoutItsModule() throws {
    try #expect(classOfInserted("E", className: "LookedUp") == LookedUp.self)
    try #expect(classOfInserted("E", className: "CoreDataObjectsTests.LookedUp") == LookedUp.self)
    try #expect(classOfInserted("E", className: NSStringFromClass(LookedUp.self)) == LookedUp.self)
  }

  @Test func nestedAndPrivateClassesAreFoundToo() throws {
    try #expect(classOfInserted("E", className: "LookupPlace.Nested") == LookupPlace.Nested.self)
    try #expect(classOfInserted("E", className: "CoreDataObjectsTests.LookupPlace.Nested") == LookupPlace.Nested.self)
    try #expect(classOfInserted("E", className: "NestedInExtension") == LookupPlace.NestedInExtension.self)
    try #expect(
      classOfInserted("E", className: "LookupPlace.NestedInExtension") == LookupPlace.NestedInExtension.self)
    try #expect(classOfInserted("E", className: "PrivateLookedUp") == PrivateLookedUp.self)
  }

  @Test func aClassIsFoundByTheNameThatIsMadeOfIt() throws {
    #expect(NSStringFromClass(NSManagedObject.self) == "NSManagedObject")
    #expect(NSStringFromClass(LookupPlace.Nested.self) == "CoreDataObjectsTests.LookupPlace.Nested")
    #expect(NSStringFromClass(PrivateLookedUp.self) == "CoreDataObjectsTests.PrivateLookedUp")
    let classes: [NSManagedObject.Type] = [
      LookedUp.self, LookupPlace.Nested.self, LookupPlace.NestedInExtension.self, LookupPlace.Twice.self,
      OtherPlace.Twice.self, PrivateLookedUp.self, classInOneFunction(), classInAnotherFunction(),
      GenericBase<Int>.self,
      GenericBase<String>.self, BelowGenericBase.self,
    ]
    let names = classes.map { NSStringFromClass($0) }
    #expect(Set(names).count == classes.count)
    #expect(names == classes.map { NSStringFromClass($0) })
    for (name, type) in zip(names, classes) { try #expect(classOfInserted("E", className: name) == type) }
  }

  private func classInOneFunction() -> NSManagedObject.Type {
    final class Local: NSManagedObject {}
    return Local.self
  }

  private func classInAnotherFunction() -> NSManagedObject.Type {
    final class Local: NSManagedObject {}
    return Local.self
  }

  @Test func aClassIsFoundBelowBaseClassesOfWhateverKind() throws {
    try #expect(classOfInserted("E", className: "BelowTwoBases") == BelowTwoBases.self)
    try #expect(classOfInserted("E", className: "BelowGenericBase") == BelowGenericBase.self)
  }

  @Test func otherNamesGivePlainObjects() throws {
    try #expect(classOfInserted("E", className: "NoSuchClassAnywhere") == NSManagedObject.self)
    // A class that is not one of managed objects, and a generic one, which cannot be created.
    try #expect(classOfInserted("E", className: "NotManaged") == NSManagedObject.self)
    try #expect(classOfInserted("E", className: "GenericBase") == NSManagedObject.self)
    try #expect(classOfInserted("E", className: "NSManagedObject") == NSManagedObject.self)
  }

  @Test func aNameInTwoPlacesMustBeWrittenInFull() throws {
    try #expect(classOfInserted("E", className: "Twice") == NSManagedObject.self)
    try #expect(classOfInserted("E", className: "LookupPlace.Twice") == LookupPlace.Twice.self)
    try #expect(classOfInserted("E", className: "OtherPlace.Twice") == OtherPlace.Twice.self)
  }

  @Test func aClassKnowsItsEntityInTheContextsModelAndInTheModelsInUse() throws {
    let store = try TemporaryStore(model(["Thing": "OfOneModel", "Other": "BelowTwoBases"]))
    try store.read { context in
      #expect(OfOneModel(context: context).entity.name == "Thing")
      #expect(BelowTwoBases(context: context).entity.name == "Other")
      let request: NSFetchRequest<any NSFetchRequestResult> = OfOneModel.fetchRequest()
      #expect(request.entityName == "Thing")
      try #expect(context.count(for: request) == 1)
    }
  }

  @Test func aSharedBaseClassNeedsNoEntityAndItsCallbacksRun() throws {
    let store = try TemporaryStore(model(["First": "FirstStamped", "Second": "SecondStamped"]))
    try store.save { context in
      let first = FirstStamped(context: context)
      let second = SecondStamped(context: context)
      #expect(first.text("stamp") == "inserted" && second.text("stamp") == "inserted")
      #expect(first.calls == ["awakeFromInsert"])
      // Set by the class's own initialiser, before it was inserted.
      #expect(second.text("title") == "from init")
      first.setValue("one", forKey: "title")
      let base: [StampedObject] = [first, second]
      #expect(base.map { $0.entity.name } == ["First", "Second"])
    }
    try store.save { context in
      let first = try #require(context.all("First").first as? FirstStamped)
      #expect(first.text("stamp") == "will be saved" && first.text("title") == "one")
      first.setValue("two", forKey: "title")
      try context.save()
      #expect(first.calls == ["awakeFromFetch", "willSave", "validateForUpdate"])
      context.delete(first)
      try context.save()
      #expect(first.calls.suffix(3) == ["prepareForDeletion", "willSave", "validateForDelete"])
    }
  }

  @Test func aSubclassRefusesWhatItsValidationRefuses() throws {
    let store = try TemporaryStore(model(["First": "FirstStamped"]))
    try store.read { context in
      let first = FirstStamped(context: context)
      first.setValue("refused", forKey: "title")
      #expect(throws: FirstStamped.Refused.self) { try context.save() }
      first.setValue("accepted", forKey: "title")
      try context.save()
    }
  }

  @Test func lookingUpFromManyThreadsFindsTheSame() async {
    let areAllFound = await withTaskGroup(of: Bool.self) { group in
      for index in 0..<64 {
        group.addTask {
          let entity = NSEntityDescription()
          entity.name = "E"
          entity.managedObjectClassName = index % 2 == 0 ? "LookedUp" : "CoreDataObjectsTests.LookupPlace.Nested"
          let object = NSManagedObject(entity: entity, insertInto: nil)
          return object.layout.objectClass == (index % 2 == 0 ? LookedUp.self : LookupPlace.Nested.self)
        }
      }
      return await group.reduce(true) { $0 && $1 }
    }
    #expect(areAllFound)
  }
}

final class LookedUp: NSManagedObject {}
private final class PrivateLookedUp: NSManagedObject {}
final class NotManaged: NSObject {}
class GenericBase<Value>: NSManagedObject {}
final class BelowGenericBase: GenericBase<[String: Int]> {}
class FirstBase: NSManagedObject {}
class SecondBase: FirstBase {}
final class BelowTwoBases: SecondBase {}
enum LookupPlace {
  final class Nested: NSManagedObject {}
  final class Twice: NSManagedObject {}
}
extension LookupPlace {
  final class NestedInExtension: NSManagedObject {}
}
enum OtherPlace {
  final class Twice: NSManagedObject {}
}

/// The common superclass of several entities' classes; no entity has it.
class StampedObject: NSManagedObject {
  var calls: [String] = []

  override func awakeFromInsert() {
    super.awakeFromInsert()
    calls.append("awakeFromInsert")
    setValue("inserted", forKey: "stamp")
  }

  override func awakeFromFetch() {
    super.awakeFromFetch()
    calls.append("awakeFromFetch")
  }

  override func willSave() {
    super.willSave()
    calls.append("willSave")
    if !isDeleted, text("stamp") != "will be saved" { setValue("will be saved", forKey: "stamp") }
  }

  override func prepareForDeletion() {
    super.prepareForDeletion()
    calls.append("prepareForDeletion")
  }

  override func validateForUpdate() throws {
    try super.validateForUpdate()
    calls.append("validateForUpdate")
  }

  override func validateForDelete() throws {
    try super.validateForDelete()
    calls.append("validateForDelete")
  }
}

final class FirstStamped: StampedObject {
  struct Refused: Error {}

  override func validateForInsert() throws {
    try super.validateForInsert()
    if text("title") == "refused" { throw Refused() }
  }
}

final class SecondStamped: StampedObject {
  override init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
    super.init(entity: entity, insertInto: context)
    if context != nil { setValue("from init", forKey: "title") }
  }
}

/// Only one model names it, although tests run at the same time.
final class OfOneModel: NSManagedObject {}
