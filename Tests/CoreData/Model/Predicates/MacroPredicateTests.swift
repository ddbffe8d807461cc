import CoreData
import Testing

/// Foundation's `#Predicate` as an `NSPredicate`: the same objects in memory and from SQL.
@Suite struct MacroPredicateTests {
  private static func model() -> NSManagedObjectModel {
    let writer = LibraryModel.entity(
      "Writer",
      [
        LibraryModel.attribute("name", .stringAttributeType), LibraryModel.attribute("age", .integer64AttributeType),
        LibraryModel.attribute("score", .doubleAttributeType),
        LibraryModel.attribute("isActive", .booleanAttributeType),
        LibraryModel.attribute("nick", .stringAttributeType),
      ])
    writer.managedObjectClassName = "Writer"
    let work = LibraryModel.entity(
      "Work",
      [LibraryModel.attribute("title", .stringAttributeType), LibraryModel.attribute("pages", .integer64AttributeType)])
    work.managedObjectClassName = "Work"
    LibraryModel.relate(writer, "works", work, "writer", toMany: (true, false))
    LibraryModel.relate(writer, "mentor", writer, "mentee", toMany: (false, false))
    let model = NSManagedObjectModel()
    model.entities = [writer, work]
    return model
  }

  /// Names of the writers that a predicate finds, in memory and by SQL, which must agree.
  private func found(_ predicate: NSPredicate?) throws -> String {
    let predicate = try #require(predicate)
    let store = try TemporaryStore(Self.model())
    try store.save { context in
      var writers: [Writer] = []
      for (name, age, score, isActive, nick) in [
        ("Ada", 36, 1.5, true, nil), ("Bert", 17, 2.5, false, "bé"), ("Cleo", 50, 0.5, true, "CLE"),
        ("Dora", 17, 4.0, true, "d"),
      ] as [(String, Int64, Double, Bool, String?)] {
        let writer = Writer(context: context)
        (writer.name, writer.age, writer.score, writer.isActive, writer.nick) = (name, age, score, isActive, nick)
        writer.mentor = writers.last
        for index in 0..<writers.count {
          let work = Work(context: context)
          (work.title, work.pages, work.writer) = ("\(name) \(index)", Int64(100 * (index + 1)), writer)
        }
        writers.append(writer)
      }
    }
    return try store.read { context in
      let request = NSFetchRequest<Writer>(entityName: "Writer")
      request.sortDescriptors = [NSSortDescriptor(keyPath: \Writer.name, ascending: true)]
      let inMemory = try context.fetch(request).filter(predicate.evaluate(with:)).map(\.name)
      request.predicate = predicate
      let fetched = try context.fetch(request).map(\.name)
      #expect(inMemory == fetched, "\(predicate)")
      return fetched.map { String($0.prefix(1)) }.joined()
    }
  }

  @Test func swiftsSortDescriptorsSortFetches() throws {
    let names = NSSortDescriptor(SortDescriptor(\Writer.name, order: .reverse))
    #expect(names == NSSortDescriptor(key: "name", ascending: false, selector: Selector("localizedStandardCompare:")))
    let nicks = NSSortDescriptor(SortDescriptor(\Writer.nick, comparator: .lexical, order: .reverse))
    #expect(nicks == NSSortDescriptor(key: "nick", ascending: false))
    #expect(NSSortDescriptor(SortDescriptor(\Writer.age)) == NSSortDescriptor(key: "age", ascending: true))
    let store = try TemporaryStore(Self.model())
    let fetched = try store.read { context in
      for name in ["b10", "B9", "a"] { Writer(context: context).name = name }
      try context.save()
      let request = NSFetchRequest<Writer>(entityName: "Writer")
      request.sortDescriptors = [names]
      return try context.fetch(request).map(\.name)
    }
    #expect(fetched == ["b10", "B9", "a"])
  }

  @Test func comparisonsAndConnections() throws {
    let limit: Int64 = 17
    try #expect(found(NSPredicate(#Predicate<Writer> { $0.age > limit })) == "AC")
    try #expect(found(NSPredicate(#Predicate<Writer> { $0.age <= 17 && $0.isActive })) == "D")
    try #expect(found(NSPredicate(#Predicate<Writer> { $0.name == "Ada" || !$0.isActive })) == "AB")
    try #expect(found(NSPredicate(#Predicate<Writer> { $0.age != 17 })) == "AC")
    try #expect(found(NSPredicate(#Predicate<Writer> { _ in true })) == "ABCD")
  }

  @Test func arithmeticAndRanges() throws {
    try #expect(found(NSPredicate(#Predicate<Writer> { $0.age + 1 == 18 })) == "BD")
    try #expect(found(NSPredicate(#Predicate<Writer> { $0.score * 2 - 1 > 3.5 })) == "BD")
    try #expect(found(NSPredicate(#Predicate<Writer> { $0.age % 10 == 6 })) == "A")
    try #expect(found(NSPredicate(#Predicate<Writer> { -$0.score < -2 })) == "BD")
    try #expect(found(NSPredicate(#Predicate<Writer> { (17...36).contains($0.age) })) == "ABD")
    try #expect(found(NSPredicate(#Predicate<Writer> { (17..<36).contains($0.age) })) == "BD")
    let ages: [Int64] = [36, 50]
    try #expect(found(NSPredicate(#Predicate<Writer> { ages.contains($0.age) })) == "AC")
  }

  @Test func strings() throws {
    try #expect(found(NSPredicate(#Predicate<Writer> { $0.name.contains("er") })) == "B")
    try #expect(found(NSPredicate(#Predicate<Writer> { $0.name.starts(with: "Cl") })) == "C")
    try #expect(found(NSPredicate(#Predicate<Writer> { $0.name.count == 3 })) == "A")
    try #expect(found(NSPredicate(#Predicate<Writer> { !$0.name.isEmpty })) == "ABCD")
  }

  @Test func optionalsAndChoices() throws {
    try #expect(found(NSPredicate(#Predicate<Writer> { $0.nick == nil })) == "A")
    try #expect(found(NSPredicate(#Predicate<Writer> { $0.nick != nil })) == "BCD")
    try #expect(found(NSPredicate(#Predicate<Writer> { $0.nick == "d" })) == "D")
    try #expect(found(NSPredicate(#Predicate<Writer> { ($0.nick ?? "none") == "none" })) == "A")
    try #expect(found(NSPredicate(#Predicate<Writer> { $0.mentor?.name == "Ada" })) == "B")
    try #expect(found(NSPredicate(#Predicate<Writer> { $0.mentor?.mentor?.age == 36 })) == "C")
    try #expect(found(NSPredicate(#Predicate<Writer> { $0.mentor!.age == 36 })) == "B")
    try #expect(found(NSPredicate(#Predicate<Writer> { ($0.isActive ? $0.age : 0) > 17 })) == "AC")
    try #expect(found(NSPredicate(#Predicate<Writer> { $0.isActive ? $0.age > 40 : true })) == "BC")
  }

  @Test func collections() throws {
    try #expect(found(NSPredicate(#Predicate<Writer> { $0.works.isEmpty })) == "A")
    try #expect(found(NSPredicate(#Predicate<Writer> { $0.works.count >= 2 })) == "CD")
    try #expect(found(NSPredicate(#Predicate<Writer> { $0.works.contains { $0.pages > 200 } })) == "D")
    try #expect(found(NSPredicate(#Predicate<Writer> { $0.works.allSatisfy { $0.pages < 300 } })) == "ABC")
    try #expect(found(NSPredicate(#Predicate<Writer> { $0.works.filter { $0.pages >= 200 }.count == 1 })) == "C")
    try #expect(
      found(NSPredicate(#Predicate<Writer> { writer in writer.works.contains { $0.title.starts(with: writer.name) } }))
        == "BCD")
  }

  @Test func whatHasNoCounterpartIsNil() {
    #expect(NSPredicate(#Predicate<Writer> { $0.unmodelled == 1 }) == nil)
  }

  @Test func aRequestIsMadeOfAPredicateAndSwiftsSortDescriptors() throws {
    let store = try TemporaryStore(Self.model())
    let names = try store.read { context in
      for (name, age) in [("Ada", 36), ("Bert", 17), ("Cleo", 50)] as [(String, Int64)] {
        let writer = Writer(context: context)
        (writer.name, writer.age) = (name, age)
      }
      try context.save()
      let request = try NSFetchRequest<Writer>(
        where: #Predicate { $0.age > 20 }, sortedBy: [SortDescriptor(\.age, order: .reverse)])
      #expect(request.entityName == "Writer")
      #expect(try NSFetchRequest<Writer>(where: #Predicate { _ in true }).sortDescriptors == [])
      return try context.fetch(request).map(\.name)
    }
    #expect(names == ["Cleo", "Ada"])
  }

  @Test func aRequestThatCannotBeTranslatedNamesThePart() throws {
    let model = Self.model()
    // A coordinator takes the model into use, and so the class has an entity.
    withExtendedLifetime(NSPersistentStoreCoordinator(managedObjectModel: model)) {
      var error = #expect(throws: CocoaError.self) {
        try NSFetchRequest<Writer>(where: #Predicate { $0.age > 3 && $0.unmodelled == 1 })
      }
      #expect(error?.code == .persistentStoreOperation)
      #expect(
        error?.localizedDescription.contains("A property of type Int of Writer,") == true,
        "\(String(describing: error))")
      error = #expect(throws: CocoaError.self) {
        try NSFetchRequest<Writer>(where: #Predicate { $0.age > 3 }, sortedBy: [SortDescriptor(\.unmodelled)])
      }
      #expect(error?.code == .persistentStoreOperation)
      #expect(
        error?.localizedDescription.contains("A property of type Int of Writer,") == true,
        "\(String(describing: error))")
      error = #expect(throws: CocoaError.self) {
        try NSFetchRequest<Unmodelled>(where: #Predicate { _ in true })
      }
      #expect(error?.localizedDescription.contains("Unmodelled") == true, "\(String(describing: error))")
    }
  }
}

final class Writer: NSManagedObject {
  private enum Keys {
    static let name = ManagedProperty<String>("name")
    static let age = ManagedProperty<Int64>("age")
    static let score = ManagedProperty<Double>("score")
    static let isActive = ManagedProperty<Bool>("isActive")
    static let nick = ManagedProperty<String?>("nick")
    static let mentor = ManagedProperty<Writer?>("mentor")
    static let works = ManagedProperty<Set<Work>>("works")
  }
  var name: String {
    get { self[Keys.name] }
    set { self[Keys.name] = newValue }
  }
  var age: Int64 {
    get { self[Keys.age] }
    set { self[Keys.age] = newValue }
  }
  var score: Double {
    get { self[Keys.score] }
    set { self[Keys.score] = newValue }
  }
  var isActive: Bool {
    get { self[Keys.isActive] }
    set { self[Keys.isActive] = newValue }
  }
  var nick: String? {
    get { self[Keys.nick] }
    set { self[Keys.nick] = newValue }
  }
  var mentor: Writer? {
    get { self[Keys.mentor] }
    set { self[Keys.mentor] = newValue }
  }
  var works: Set<Work> { self[Keys.works] }
  var unmodelled: Int { 1 }
}

/// A class that no model names.
private final class Unmodelled: NSManagedObject {}

final class Work: NSManagedObject {
  private enum Keys {
    static let title = ManagedProperty<String>("title")
    static let pages = ManagedProperty<Int64>("pages")
    static let writer = ManagedProperty<Writer?>("writer")
  }
  var title: String {
    get { self[Keys.title] }
    set { self[Keys.title] = newValue }
  }
  var pages: Int64 {
    get { self[Keys.pages] }
    set { self[Keys.pages] = newValue }
  }
  var writer: Writer? {
    get { self[Keys.writer] }
    set { self[Keys.writer] = newValue }
  }
}

@usableFromInline enum WriterKeyPaths: ManagedKeyPathTable {
  @usableFromInline static var objectClass: NSManagedObject.Type { Writer.self }
  @usableFromInline static var keyPaths: [AnyKeyPath: String] {
    [
      \Writer.name: "name", \Writer.age: "age", \Writer.score: "score", \Writer.isActive: "isActive",
      \Writer.nick: "nick", \Writer.mentor: "mentor", \Writer.works: "works",
    ]
  }
}

@usableFromInline enum WorkKeyPaths: ManagedKeyPathTable {
  @usableFromInline static var objectClass: NSManagedObject.Type { Work.self }
  @usableFromInline static var keyPaths: [AnyKeyPath: String] { [\Work.title: "title", \Work.pages: "pages"] }
}
