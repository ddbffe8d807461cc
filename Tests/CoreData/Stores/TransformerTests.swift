import CoreData
import Synchronization
import TestFiles
import Testing

/// A colour that supports secure coding. It is a top-level class because Foundation does not archive the names of
/// nested ones.
final class Paint: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  let name: String

  init(_ name: String) { self.name = name }
  required init?(coder: NSCoder) { name = coder.decodeObject(of: NSString.self, forKey: "name") as String? ?? "" }
  func encode(with coder: NSCoder) { coder.encode(name as NSString, forKey: "name") }
}

/// A class that no transformer of these tests allows. It notes that an archive has made one.
final class Intruder: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  static let decoded = Atomic(0)

  override init() {}
  required init?(coder: NSCoder) { Intruder.decoded.add(1, ordering: .relaxed) }
  func encode(with coder: NSCoder) {}
}

/// Writes what looks like a paint, with an intruder as its name.
final class Disguise: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }

  override init() {}
  required init?(coder: NSCoder) { nil }
  func encode(with coder: NSCoder) { coder.encode(Intruder(), forKey: "name") }
}

/// Transformable attributes with a transformer that the program registers.
@Suite struct TransformerTests {
  final class PaintTransformer: NSSecureUnarchiveFromDataTransformer {
    override class var allowedTopLevelClasses: [AnyClass] { [Paint.self] }
  }

  /// Stores text backwards.
  final class Mirror: ValueTransformer {
    override func transformedValue(_ value: Any?) -> Any? {
      (value as? String).map { Data(String($0.reversed()).utf8) }
    }
    override func reverseTransformedValue(_ value: Any?) -> Any? {
      (value as? Data).map { String(String(decoding: $0, as: UTF8.self).reversed()) }
    }
  }

  /// A value of Swift, which no archive can hold.
  struct Unarchivable {}

  /// NULL would lose the value.
  @Test(arguments: [nil, "NSSecureUnarchiveFromData", "JSONValueTransformer"])
  func aValueThatHasNoFormIsRefused(name: String?) throws {
    let attribute = Build.attribute("paint", .transformableAttributeType)
    attribute.valueTransformerName = name
    let store = try TemporaryStore(Build.model(Build.entity("Wall", Build.attribute("name"), attribute)))
    let value: Any = name == "JSONValueTransformer" ? [1: 2] as [AnyHashable: Any] : Unarchivable()
    let context = store.context()
    try context.performAndWait {
      let wall = context.make("Wall", ["name": "a"])
      wall.setValue(value, forKey: "paint")
      let error = #expect(throws: NSError.self) { try context.save() }
      #expect(error?.code == NSPersistentStoreSaveError)
      #expect("\(error as Any)".contains("the value of paint of Wall/p1"), "\(error as Any)")
      wall.setValue(nil, forKey: "paint")
      try context.save()
    }
  }

  @Test("A name that no transformer is registered under is told of once, and Foundation's names are not")
  func unregisteredNames() {
    let name = "Unregistered \(UUID())"
    #expect(TransformableValue.unregisteredWarning(name)?.contains(name) == true)
    #expect(TransformableValue.unregisteredWarning(name) == nil)
    for name in ["", "NSSecureUnarchiveFromData", "NSKeyedUnarchiveFromData"] {
      #expect(TransformableValue.unregisteredWarning(name) == nil)
    }
  }

  private func stored(_ name: String, _ value: Any, _ body: (Any?) -> Void) throws {
    let folder = temporaryURL("transformer")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let attribute = NSAttributeDescription()
    attribute.name = "paint"
    attribute.attributeType = .transformableAttributeType
    attribute.valueTransformerName = name
    let entity = NSEntityDescription()
    entity.name = "Wall"
    entity.properties = [attribute]
    let model = NSManagedObjectModel()
    model.entities = [entity]
    func context() throws -> NSManagedObjectContext {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: folder.appendingPathComponent("walls.sqlite"),
        options: nil)
      return coordinator.context()
    }
    let writing = try context()
    try writing.performAndWait {
      NSEntityDescription.insertNewObject(forEntityName: "Wall", into: writing).setValue(value, forKey: "paint")
      try writing.save()
    }
    let reading = try context()
    try reading.performAndWait {
      let walls = try reading.fetch(NSFetchRequest<NSManagedObject>(entityName: "Wall"))
      body(walls.first?.value(forKey: "paint"))
    }
  }

  /// A secure transformer reads with `transformedValue`, unlike all others.
  @Test func aSecureTransformerKeepsAnObjectOfItsClass() throws {
    let name = NSValueTransformerName("TransformerTests.Paint")
    ValueTransformer.setValueTransformer(PaintTransformer(), forName: name)
    defer { ValueTransformer.setValueTransformer(nil, forName: name) }
    try stored(name.rawValue, Paint("ochre")) { value in
      #expect((value as? Paint)?.name == "ochre")
    }
  }

  @Test func aSecureTransformerReadsNoOtherClass() throws {
    let archive = try #require(PaintTransformer().reverseTransformedValue(Paint("ochre")) as? Data)
    #expect((PaintTransformer().transformedValue(archive) as? Paint)?.name == "ochre")
    #expect(NSSecureUnarchiveFromDataTransformer().transformedValue(archive) == nil)
    let list = NSSecureUnarchiveFromDataTransformer().reverseTransformedValue(NSArray(array: ["a"]))
    #expect(NSSecureUnarchiveFromDataTransformer().transformedValue(list) as? [String] == ["a"])
    #expect(PaintTransformer().transformedValue(list) == nil)
  }

  /// As the archive's object, inside a list, and instead of the text that an allowed object reads.
  @Test func aSecureTransformerMakesNoObjectOfAnotherClass() throws {
    func archive(_ object: Any) throws -> Data {
      try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)
    }
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    archiver.setClassName(NSStringFromClass(Paint.self), for: Disguise.self)
    archiver.encode(Disguise(), forKey: NSKeyedArchiveRootObjectKey)
    archiver.finishEncoding()
    let made = Intruder.decoded.load(ordering: .relaxed)
    for data in [try archive(Intruder()), try archive(NSArray(array: ["a", Intruder()])), archiver.encodedData] {
      #expect(NSSecureUnarchiveFromDataTransformer().transformedValue(data) == nil)
      #expect(PaintTransformer().transformedValue(data) == nil)
    }
    #expect(Intruder.decoded.load(ordering: .relaxed) == made)
    // In another form the classes are not known before.
    let list = try PropertyListSerialization.propertyList(from: archive(Intruder()), options: [], format: nil)
    let xml = try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0)
    #expect(PaintTransformer().transformedValue(xml) == nil)
    #expect(Intruder.decoded.load(ordering: .relaxed) == made)
  }

  @Test func anOrdinaryTransformerWritesWithTransformedValue() throws {
    let name = NSValueTransformerName("TransformerTests.Mirror")
    let mirror = Mirror()
    ValueTransformer.setValueTransformer(mirror, forName: name)
    defer { ValueTransformer.setValueTransformer(nil, forName: name) }
    #expect(ValueTransformer(forName: name) === mirror)
    #expect(ValueTransformer.valueTransformerNames().contains(name))
    #expect(ValueTransformer(forName: NSValueTransformerName("TransformerTests.none")) == nil)
    try stored(name.rawValue, "stressed") { value in
      #expect(value as? String == "stressed")
    }
  }
}
