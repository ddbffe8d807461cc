import CoreData
import Testing

/// Typed accessors in the form of generated code, for each type that a property can have.
@Suite struct ManagedPropertyTests {
  static func model() -> NSManagedObjectModel {
    let types: [(String, NSAttributeType)] = [
      ("int16", .integer16AttributeType), ("int32", .integer32AttributeType), ("int64", .integer64AttributeType),
      ("flag", .booleanAttributeType), ("double", .doubleAttributeType), ("float", .floatAttributeType),
      ("text", .stringAttributeType), ("date", .dateAttributeType), ("data", .binaryDataAttributeType),
      ("uuid", .UUIDAttributeType), ("url", .URIAttributeType), ("decimal", .decimalAttributeType),
      ("list", .transformableAttributeType),
    ]
    let every = LibraryModel.entity("Every", types.map { LibraryModel.attribute($0.0, $0.1) })
    every.managedObjectClassName = "EveryType"
    let below = LibraryModel.entity("Below", [LibraryModel.attribute("own", .stringAttributeType)])
    let beside = LibraryModel.entity(
      "Beside",
      [LibraryModel.attribute("aaa", .stringAttributeType), LibraryModel.attribute("own", .stringAttributeType)])
    every.subentities = [below, beside]
    for entity in [below, beside] { entity.managedObjectClassName = "EveryTypeBelow" }
    LibraryModel.relate(every, "next", every, "previous", toMany: (false, false))
    LibraryModel.relate(every, "children", every, "parent", toMany: (true, false))
    LibraryModel.relate(every, "ordered", every, "orderedBy", toMany: (true, true), ordered: true)
    let model = NSManagedObjectModel()
    model.entities = [every, below, beside]
    return model
  }

  private func fill(_ object: EveryType, children: [EveryType]) {
    object.int16 = -16
    object.int32 = 32
    object.int64 = .max
    object.flag = true
    object.double = 1.5
    object.float = 0.25
    object.text = "some text that does not fit into a word"
    object.date = Date(timeIntervalSinceReferenceDate: 1)
    object.data = Data([1, 2, 3])
    object.uuid = UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
    object.url = URL(string: "https://example.org/a")
    object.decimal = NSDecimalNumber(string: "12.34")
    object.list = ["a", "b"]
    object.next = children.first
    object.children = Set(children)
    object.ordered = NSOrderedSet(array: children)
  }

  @Test func whatIsWrittenIsReadBackBeforeAndAfterASave() throws {
    let store = try TemporaryStore(Self.model())
    func check(_ object: EveryType) {
      #expect(object.int16 == -16 && object.int32 == 32 && object.int64 == .max && object.int == .max)
      #expect(object.number == NSNumber(value: Int64.max) && object.optionalNumber == .max)
      #expect(object.flag && object.double == 1.5 && object.float == 0.25)
      #expect(object.text == "some text that does not fit into a word" && object.optionalText == object.text)
      #expect(object.date == Date(timeIntervalSinceReferenceDate: 1) && object.seconds == 1)
      #expect(object.mandatoryDate == object.date)
      #expect(object.data == Data([1, 2, 3]))
      #expect(object.uuid?.uuidString == "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
      #expect(object.url == URL(string: "https://example.org/a"))
      #expect(object.decimal == NSDecimalNumber(string: "12.34") && object.swiftDecimal == Decimal(string: "12.34"))
      #expect(object.list == ["a", "b"])
      #expect(object.next?.text == "child 0" && object.mandatoryNext.text == "child 0")
      #expect(object.children.count == 2 && object.childrenSet?.count == 2)
      #expect(object.ordered?.compactMap { ($0 as? EveryType)?.text } == ["child 0", "child 1"])
      #expect(object.next?.previous === object)
    }
    try store.save { context in
      let children = (0..<2).map { index in
        let child = EveryType(
          entity: context.persistentStoreCoordinator!.managedObjectModel.entitiesByName["Every"]!, insertInto: context)
        child.text = "child \(index)"
        return child
      }
      let object = context.make("Every") as! EveryType
      object.text = "first"
      fill(object, children: children)
      check(object)
    }
    try store.read { context in
      check(try #require(context.all("Every", where: "int16 == -16").first as? EveryType))
    }
  }

  @Test func anAttributeIsReadThroughAnAccessorOfAnotherTypeThatCanHoldIt() throws {
    let store = try TemporaryStore(Self.model())
    try store.save { context in
      let object = try #require(context.make("Every") as? EveryType)
      #expect(object.numberAsDecimal == nil && object.numberAsSwiftDecimal == 0 && object.listAsData == nil)
      object.numberAsDecimal = NSDecimalNumber(value: 7)
      #expect(object.int64 == 7 && object.numberAsDecimal == 7 && object.numberAsSwiftDecimal == 7)
      object.numberAsSwiftDecimal = 8
      #expect(object.int64 == 8)
      // Transformable values, whose class the model names otherwise or not at all.
      object.listAsText = "text"
      #expect(object.listAsText == "text" && object.value(forKey: "list") as? String == "text")
      object.listAsDate = Date(timeIntervalSinceReferenceDate: 1)
      #expect(object.listAsDate == Date(timeIntervalSinceReferenceDate: 1))
      object.listAsData = Data([1, 2])
      #expect(object.listAsData == Data([1, 2]))
    }
  }

  @Test func nilIsReadAsNilOrAsZeroOrEmpty() throws {
    let store = try TemporaryStore(Self.model())
    store.context().performAndWaitWith { context in
      let object = context.make("Every") as! EveryType
      for _ in 0..<2 {
        #expect(object.int16 == 0 && object.int32 == 0 && object.int64 == 0 && object.int == 0)
        #expect(!object.flag && object.double == 0 && object.float == 0 && object.text.isEmpty && object.data.isEmpty)
        #expect(object.optionalNumber == nil && object.optionalText == nil && object.number == nil)
        #expect(object.date == nil && object.uuid == nil && object.url == nil && object.decimal == nil)
        #expect(object.list == nil && object.next == nil && object.children.isEmpty && object.swiftDecimal == 0)
        // Again after values were set and removed.
        fill(object, children: [])
        object.optionalNumber = nil
        for key in ["int16", "int32", "flag", "double", "float", "text", "date", "data", "list"] {
          object.setValue(nil, forKey: key)
        }
        object.uuid = nil
        object.url = nil
        object.decimal = nil
      }
    }
  }

  @Test func entitiesThatShareAnAccessorAreToldApart() throws {
    let store = try TemporaryStore(Self.model())
    try store.save { context in
      // `own` lies in different slots of the two.
      let objects = (0..<6).map { context.make($0 % 2 == 0 ? "Below" : "Beside") as! EveryTypeBelow }
      for (index, object) in objects.enumerated() {
        object.own = "own \(index)"
        object.text = "text \(index)"
      }
      for (index, object) in objects.enumerated() {
        #expect(object.own == "own \(index)" && object.text == "text \(index)")
        #expect(object.text("own") == "own \(index)")
      }
    }
  }

  @Test func anAccessorOfTheWrongTypeTraps() async {
    let wrongType = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let store = try TemporaryStore(ManagedPropertyTests.model())
      store.context().performAndWaitWith { _ = ($0.make("Every", ["text": "one"]) as! EveryType).textAsData }
    }
    expectSentence(wrongType, "Every.text holds a String")
    let missing = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let store = try TemporaryStore(ManagedPropertyTests.model())
      store.context().performAndWaitWith { _ = ($0.make("Every") as! EveryType).mandatoryDate }
    }
    expectSentence(missing, "Every.date is nil")
  }
}

class EveryType: NSManagedObject {
  private enum Keys {
    static let int16 = ManagedProperty<Int16>("int16")
    static let int32 = ManagedProperty<Int32>("int32")
    static let int64 = ManagedProperty<Int64>("int64")
    static let int = ManagedProperty<Int>("int64")
    static let optionalNumber = ManagedProperty<Int64?>("int64")
    static let number = ManagedProperty<NSNumber?>("int64")
    static let flag = ManagedProperty<Bool>("flag")
    static let double = ManagedProperty<Double>("double")
    static let float = ManagedProperty<Float>("float")
    static let text = ManagedProperty<String>("text")
    static let optionalText = ManagedProperty<String?>("text")
    static let textAsData = ManagedProperty<Data?>("text")
    static let date = ManagedProperty<Date?>("date")
    static let seconds = ManagedProperty<Double>("date")
    static let mandatoryDate = ManagedProperty<Date>("date")
    static let data = ManagedProperty<Data>("data")
    static let uuid = ManagedProperty<UUID?>("uuid")
    static let url = ManagedProperty<URL?>("url")
    static let decimal = ManagedProperty<NSDecimalNumber?>("decimal")
    static let swiftDecimal = ManagedProperty<Decimal>("decimal")
    static let numberAsDecimal = ManagedProperty<NSDecimalNumber?>("int64")
    static let numberAsSwiftDecimal = ManagedProperty<Decimal>("int64")
    static let listAsData = ManagedProperty<Data?>("list")
    static let listAsText = ManagedProperty<String?>("list")
    static let listAsDate = ManagedProperty<Date?>("list")
    static let list = ManagedProperty<[String]?>("list")
    static let next = ManagedProperty<EveryType?>("next")
    static let mandatoryNext = ManagedProperty<EveryType>("next")
    static let previous = ManagedProperty<EveryType?>("previous")
    static let children = ManagedProperty<Set<EveryType>>("children")
    static let childrenSet = ManagedProperty<NSSet?>("children")
    static let ordered = ManagedProperty<NSOrderedSet?>("ordered")
  }

  var int16: Int16 {
    get { self[Keys.int16] }
    set { self[Keys.int16] = newValue }
  }
  var int32: Int32 {
    get { self[Keys.int32] }
    set { self[Keys.int32] = newValue }
  }
  var int64: Int64 {
    get { self[Keys.int64] }
    set { self[Keys.int64] = newValue }
  }
  var int: Int { self[Keys.int] }
  var optionalNumber: Int64? {
    get { self[Keys.optionalNumber] }
    set { self[Keys.optionalNumber] = newValue }
  }
  var number: NSNumber? { self[Keys.number] }
  var flag: Bool {
    get { self[Keys.flag] }
    set { self[Keys.flag] = newValue }
  }
  var double: Double {
    get { self[Keys.double] }
    set { self[Keys.double] = newValue }
  }
  var float: Float {
    get { self[Keys.float] }
    set { self[Keys.float] = newValue }
  }
  var text: String {
    get { self[Keys.text] }
    set { self[Keys.text] = newValue }
  }
  var optionalText: String? { self[Keys.optionalText] }
  var textAsData: Data? { self[Keys.textAsData] }
  var date: Date? {
    get { self[Keys.date] }
    set { self[Keys.date] = newValue }
  }
  var seconds: Double { self[Keys.seconds] }
  var mandatoryDate: Date { self[Keys.mandatoryDate] }
  var data: Data {
    get { self[Keys.data] }
    set { self[Keys.data] = newValue }
  }
  var uuid: UUID? {
    get { self[Keys.uuid] }
    set { self[Keys.uuid] = newValue }
  }
  var url: URL? {
    get { self[Keys.url] }
    set { self[Keys.url] = newValue }
  }
  var decimal: NSDecimalNumber? {
    get { self[Keys.decimal] }
    set { self[Keys.decimal] = newValue }
  }
  var swiftDecimal: Decimal { self[Keys.swiftDecimal] }
  var numberAsDecimal: NSDecimalNumber? {
    get { self[Keys.numberAsDecimal] }
    set { self[Keys.numberAsDecimal] = newValue }
  }
  var numberAsSwiftDecimal: Decimal {
    get { self[Keys.numberAsSwiftDecimal] }
    set { self[Keys.numberAsSwiftDecimal] = newValue }
  }
  var listAsData: Data? {
    get { self[Keys.listAsData] }
    set { self[Keys.listAsData] = newValue }
  }
  var listAsText: String? {
    get { self[Keys.listAsText] }
    set { self[Keys.listAsText] = newValue }
  }
  var listAsDate: Date? {
    get { self[Keys.listAsDate] }
    set { self[Keys.listAsDate] = newValue }
  }
  var list: [String]? {
    get { self[Keys.list] }
    set { self[Keys.list] = newValue }
  }
  var next: EveryType? {
    get { self[Keys.next] }
    set { self[Keys.next] = newValue }
  }
  var mandatoryNext: EveryType { self[Keys.mandatoryNext] }
  var previous: EveryType? { self[Keys.previous] }
  var children: Set<EveryType> {
    get { self[Keys.children] }
    set { self[Keys.children] = newValue }
  }
  var childrenSet: NSSet? { self[Keys.childrenSet] }
  var ordered: NSOrderedSet? {
    get { self[Keys.ordered] }
    set { self[Keys.ordered] = newValue }
  }
}

final class EveryTypeBelow: EveryType {
  private static let ownProperty = ManagedProperty<String?>("own")
  var own: String? {
    get { self[EveryTypeBelow.ownProperty] }
    set { self[EveryTypeBelow.ownProperty] = newValue }
  }
}
