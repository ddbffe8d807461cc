import Testing

@testable import CoreData

@Suite struct ValidationOrderTests {
  /// The table of one superclass comes before its subclass's in the program, that of the other behind.
  @Test("A class's own validation takes the place of the inherited one, whatever the order of the tables")
  func ownValidation() throws {
    for type in [OrderedNoteB.self, OrderedLetterA.self] as [NSManagedObject.Type] {
      let entity = Build.entity("Note", Build.attribute("title"))
      entity.managedObjectClassName = NSStringFromClass(type)
      let model = Build.model(entity)
      try withExtendedLifetime(model) {
        var value: AnyObject? = "text" as NSString
        let validation = try #require(KeyPathNames.validations(of: type)["title"])
        try validation(type.init(entity: entity, insertInto: nil), &value)
        #expect(value as? String == "subclass")
      }
    }
  }
}

class OrderedNoteA: NSManagedObject {}
final class OrderedNoteB: OrderedNoteA {}
class OrderedLetterB: NSManagedObject {}
final class OrderedLetterA: OrderedLetterB {}

@usableFromInline enum OrderedNoteATable: ManagedKeyPathTable {
  @usableFromInline static var objectClass: NSManagedObject.Type { OrderedNoteA.self }
  @usableFromInline static var keyPaths: [AnyKeyPath: String] { [:] }
  @usableFromInline static var validations: [String: ManagedValidation] {
    ["title": { $1.pointee = "superclass" as NSString }]
  }
}

@usableFromInline enum OrderedNoteBTable: ManagedKeyPathTable {
  @usableFromInline static var objectClass: NSManagedObject.Type { OrderedNoteB.self }
  @usableFromInline static var keyPaths: [AnyKeyPath: String] { [:] }
  @usableFromInline static var validations: [String: ManagedValidation] {
    ["title": { $1.pointee = "subclass" as NSString }]
  }
}

@usableFromInline enum OrderedLetterATable: ManagedKeyPathTable {
  @usableFromInline static var objectClass: NSManagedObject.Type { OrderedLetterA.self }
  @usableFromInline static var keyPaths: [AnyKeyPath: String] { [:] }
  @usableFromInline static var validations: [String: ManagedValidation] {
    ["title": { $1.pointee = "subclass" as NSString }]
  }
}

@usableFromInline enum OrderedLetterBTable: ManagedKeyPathTable {
  @usableFromInline static var objectClass: NSManagedObject.Type { OrderedLetterB.self }
  @usableFromInline static var keyPaths: [AnyKeyPath: String] { [:] }
  @usableFromInline static var validations: [String: ManagedValidation] {
    ["title": { $1.pointee = "superclass" as NSString }]
  }
}
