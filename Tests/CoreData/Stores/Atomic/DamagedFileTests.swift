import TestFiles
import Testing

@testable import CoreData

/// Damaged files of stores that are read whole: each is refused with a sentence, and none costs the process its memory.
@Suite struct DamagedFileTests {
  private let stack: StoreStack
  private var url: URL { stack.url }

  init() throws {
    stack = try StoreStack(.xml)
    try stack.perform { context in
      let author = context.make("Author", ["name": "Ada"])
      context.make("Book", ["title": "one", "author": author])
      try context.save()
    }
  }

  /// Opens a changed copy of the XML file, which has an author and a book.
  private func open(replacing old: String, with new: String) throws -> NSManagedObjectContext {
    let text = try String(contentsOf: url, encoding: .utf8)
    try #require(text.contains(old))
    try text.replacingOccurrences(of: old, with: new).write(to: url, atomically: true, encoding: .utf8)
    return try stack.context(stack.another())
  }

  private var bookID: String {
    get throws {
      let text = try String(contentsOf: url, encoding: .utf8)
      return String(try #require(text.firstMatch(of: #/<object type="BOOK" id="z([0-9]+)"/#)).1)
    }
  }

  private func expectRefusal(_ words: String, _ body: () throws -> Void) {
    let error = #expect(throws: NSError.self) { try body() }
    #expect(error?.code == 134010, "\(error as Any)")
    #expect(error?.localizedDescription.contains(words) == true, "\(error?.localizedDescription ?? "")")
  }

  /// Foundation's parser ends the process at an instruction that has a name only.
  @Test(arguments: ["<?a?>", "<?a ?>", "<!-- <?a?> --><?b?>", "<??>", "<?"])
  func anInstructionWithoutDataInAnXMLFileEndsNoProcess(instruction: String) throws {
    let id = try bookID
    let object = "<object type=\"BOOK\" id=\"z\(id)\""
    if instruction.hasSuffix(">"), instruction != "<??>" {
      let context = try open(replacing: object, with: instruction + object)
      let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
      let count = try context.performAndWait { try context.count(for: request) }
      #expect(count == 1)
    } else {
      expectRefusal("well-formed XML") { _ = try open(replacing: object, with: instruction + object) }
    }
  }

  @Test(arguments: ["9223372036854775807", "1099511627776", "4294967297"])
  func anXMLFileWithAnAbsurdKeyIsRefused(key: String) throws {
    let id = try bookID
    expectRefusal(key) { _ = try open(replacing: "id=\"z\(id)\"", with: "id=\"z\(key)\"") }
  }

  @Test func anXMLFileWithAnAbsurdLastKeyIsRefused() throws {
    expectRefusal("9223372036854775807") {
      _ = try open(
        replacing: "<nextObjectID>2</nextObjectID>", with: "<nextObjectID>9223372036854775807</nextObjectID>")
    }
  }

  @Test func anXMLFileWithOneKeyForTwoObjectsIsRefused() throws {
    expectRefusal("1") {
      var context: NSManagedObjectContext?
      context = try open(replacing: "id=\"z2\"", with: "id=\"z1\"")
      withExtendedLifetime(context) {}
    }
  }

  @Test func aKeyAfterAGapIsKept() throws {
    let id = try bookID
    let context = try open(replacing: "id=\"z\(id)\"", with: "id=\"z4000000\"")
    try context.performAndWait {
      try #expect(context.all("Book")[0].objectID.key == 4_000_000)
      let tag = context.make("Tag", ["label": "a"])
      try context.save()
      #expect(tag.objectID.key == 4_000_001)
    }
  }

  @Test func anObjectWithTheLargestVersionCanBeChanged() throws {
    let context = try open(replacing: "version=\"1\"", with: "version=\"9223372036854775807\"")
    try context.performAndWait {
      let (author, book) = (try context.all("Author")[0], try context.all("Book")[0])
      book.setValue("two", forKey: "title")
      try context.save()
      // The values of this author were never read.
      author.mutableSetValue(forKey: "books").removeAllObjects()
      try context.save()
      try #expect(context.all("Book", where: "author == nil").map { $0.text("title") } == ["two"])
    }
  }

  // MARK: Binary files

  /// Opens a binary file with one tag and one book, whose rows are changed.
  private func openBinary(_ change: (inout [String: Any], inout [String: Any]) -> Void) throws -> NSManagedObjectContext
  {
    let stack = try StoreStack(.binary)
    try stack.perform { context in
      let author = context.make("Author", ["name": "Ada"])
      context.make("Book", ["title": "one", "author": author])
      try context.save()
    }
    var list = try #require(
      PropertyListSerialization.propertyList(from: Data(contentsOf: stack.url), format: nil) as? [String: Any])
    var entities = try #require(list["entities"] as? [String: [[String: Any]]])
    var book = try #require(entities["Book"]?.first)
    change(&list, &book)
    entities["Book"] = [book]
    list["entities"] = entities
    try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0).write(to: stack.url)
    let context = try stack.context(stack.another())
    try context.performAndWait { for book in try context.all("Book") { _ = book.object("author")?.text("name") } }
    return context
  }

  @Test(arguments: [Int64.max, 1 << 40, -1, 0])
  func aBinaryFileWithAnAbsurdKeyIsRefused(key: Int64) throws {
    expectRefusal("damaged") { _ = try openBinary { $1["k"] = key } }
    expectRefusal("damaged") { _ = try openBinary { $1["o"] = ["author": ["Author", key] as [Any]] } }
    if key > 0 { expectRefusal("damaged") { _ = try openBinary { list, _ in list["lastKey"] = key } } }
  }

  // MARK: Large files

  /// An XML parser reads no attribute of more than ten million bytes.
  @Test func aRelationshipWithAMillionMembersIsReadAgain() throws {
    let subject = try StoreSubject(.xml)
    let keys = try subject.insert("Tag", [["label": "a"], ["label": "b"]])
    let owner = try subject.insert("Book", [["title": "heavy"]])[0]
    let memory = try #require(subject.store as? XMLStore).memory
    let list = try #require(memory.schema.entity(named: "Book").toManys["tags"])
    let others = (0..<640_000).map { 1_000_000_000_000_000 + Int64($0) }
    memory.load { $0.contents.setMembers(keys + others, list.number, of: owner) }
    let data = try XMLFormat.encode(memory, subject.store.metadata)
    #expect(data.count > 10_000_000)
    let schema = MemorySchema(subject.model.entities, StoreReference(identifier: "copy"), sharesKeys: true)
    let copy = MemoryRows(schema)
    try copy.load { try XMLFormat.decode(data, into: MemoryLoader($0)) }
    // The other members have no rows, and so are dropped.
    #expect(copy.contents.members[list.number][owner]?.filter(keys.contains) == keys)
  }
}
