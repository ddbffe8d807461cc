import TestFiles
import Testing

@testable import CoreData

/// Rows as they are read beside the same columns read with sqlite3: values of all types, also those that Core Data
/// would not have written.
@Suite struct PackedRowTests {
  private static let texts = (0..<6).map { "text\($0)" }

  private static func makeModel() -> NSManagedObjectModel {
    let attributes: [(String, NSAttributeType)] = [
      ("small", .integer16AttributeType), ("middle", .integer32AttributeType), ("large", .integer64AttributeType),
      ("flag", .booleanAttributeType), ("real", .doubleAttributeType), ("single", .floatAttributeType),
      ("moment", .dateAttributeType), ("sum", .decimalAttributeType), ("bytes", .binaryDataAttributeType),
      ("mark", .UUIDAttributeType), ("link", .URIAttributeType), ("extra", .transformableAttributeType),
    ]
    let place = PlacesModel.composite(
      "place",
      [
        LibraryModel.attribute("city", .stringAttributeType), LibraryModel.attribute("number", .integer64AttributeType),
      ])
    let cell = LibraryModel.entity(
      "Cell",
      attributes.map { LibraryModel.attribute($0, $1) } + texts.map { LibraryModel.attribute($0, .stringAttributeType) }
        + [place])
    let tile = LibraryModel.entity("Tile", [LibraryModel.attribute("colour", .stringAttributeType)])
    cell.subentities = [tile]
    LibraryModel.relate(cell, "owner", cell, "owned", toMany: (false, true))
    let model = NSManagedObjectModel()
    model.entities = [cell, tile]
    return model
  }

  // MARK: The file

  /// A store whose rows are written with sqlite3.
  private func filledStore(rows: Int, _ random: inout some RandomNumberGenerator) throws -> TemporaryStore {
    let store = try TemporaryStore(Self.makeModel())
    let context = store.context()
    try context.performAndWait {
      let objects = (0..<rows).map { context.make($0 % 3 == 0 ? "Tile" : "Cell") }
      for object in objects where Bool.random(using: &random) {
        object.setValue(objects.randomElement(using: &random), forKey: "owner")
      }
      try context.save()
    }
    let connection = try SQLiteConnection(path: store.url.path, access: .readWrite)
    defer { connection.close() }
    let columns = try connection.rows("PRAGMA table_info(ZCELL)").compactMap { row -> String? in
      // Neither the system's columns nor those of the relationship: ZOWNER and the entity's number, Z1_OWNER.
      guard case .text(let name) = row[1], name.hasPrefix("Z"), !name.hasPrefix("Z_"), !name.hasSuffix("OWNER") else {
        return nil
      }
      return name
    }
    try connection.execute("BEGIN IMMEDIATE")
    for key in 1...rows {
      let assignments: [SQL] = columns.map { "\(raw: $0) = \(bind: Self.value(for: $0, &random))" }
      try connection.run("UPDATE ZCELL SET \(assignments.joined(", ")) WHERE Z_PK = \(raw: key)")
    }
    // Text that is not UTF-8, which cannot be bound as a String.
    for (offset, bytes) in ["ff41fe", "c3", "610062", "00", "eda080", "f09f988300ff"].enumerated() {
      try connection.execute(
        "UPDATE ZCELL SET ZTEXT\(offset) = CAST(x'\(bytes)' AS TEXT) WHERE Z_PK % 7 = \(offset)")
    }
    try connection.execute("COMMIT")
    return store
  }

  private static func value(for column: String, _ random: inout some RandomNumberGenerator) -> SQLiteValue {
    if Int.random(in: 0..<5, using: &random) == 0 { return .null }
    if column == "ZEXTRA" {
      let archive = try? NSKeyedArchiver.archivedData(
        withRootObject: "value \(Int.random(in: 0..<9, using: &random))" as NSString, requiringSecureCoding: true)
      return archive.map { .blob($0) } ?? .null
    }
    // A value of any storage class in any column.
    switch Int.random(in: 0..<12, using: &random) {
    case 0: return .integer([0, 1, -1, .min, .max, 32768, 1 << 40].randomElement(using: &random) ?? 0)
    case 1: return .real([0, -0.0, .infinity, -.infinity, 1e300, 0.1, 123.5].randomElement(using: &random) ?? 0)
    case 2: return .text("")
    case 3: return .blob(Data())
    case 4: return .text(String(repeating: "ä long text ", count: Int.random(in: 0..<400, using: &random)))
    case 5: return .text(String(repeating: "x", count: Int.random(in: 1014...1034, using: &random)))
    case 6: return .blob(Data((0..<Int.random(in: 1..<40, using: &random)).map { UInt8(truncatingIfNeeded: $0 &* 37) }))
    case 7: return .blob(withUnsafeBytes(of: UUID().uuid) { Data($0) })
    case 8: return .text("https://example.org/\(Int.random(in: 0..<99, using: &random))")
    case 9: return .text("12.75")
    case 10: return .text("é\u{301} 😃")
    default: return .text("text \(Int.random(in: 0..<1_000_000, using: &random))")
    }
  }

  // MARK: Comparing

  private static let names =
    ["small", "middle", "large", "flag", "real", "single", "moment", "sum", "bytes", "mark", "link", "extra"] + texts

  /// The value that key-value coding gives, as a Foundation object.
  private func actual(_ object: NSManagedObject, _ name: String) -> NSObject? {
    switch object.value(forKey: name) {
    case let text as String: NSString(string: text)
    case let data as Data: NSData(data: data)
    case let date as Date: NSNumber(value: date.timeIntervalSinceReferenceDate)
    case let uuid as UUID: NSString(string: uuid.uuidString)
    case let url as URL: NSString(string: url.absoluteString)
    case let number as NSDecimalNumber: NSString(string: number.stringValue)
    case let value: value as? NSObject
    }
  }

  private func compare(
    _ objects: [Int64: NSManagedObject], _ rows: [Int64: [String: PlainColumn]],
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    for (key, object) in objects {
      let columns = try #require(rows[key], sourceLocation: sourceLocation)
      for name in Self.names {
        guard let column = columns["Z" + name.uppercased()] else {
          Issue.record("no column for \(name)", sourceLocation: sourceLocation)
          continue
        }
        let storedValue = column.value(of: name)
        let readValue = actual(object, name)
        #expect(storedValue == readValue, "\(name) of \(key)", sourceLocation: sourceLocation)
      }
      for name in Self.texts {
        let column = columns["Z" + name.uppercased()]
        let storedText = column.flatMap { $0.isNull ? nil : $0.string }
        #expect(object[ManagedProperty<String?>(name)] == storedText, sourceLocation: sourceLocation)
        if case .string(let text) = object.predicateValue(at: [name][...]) {
          #expect(text == storedText, sourceLocation: sourceLocation)
        } else {
          #expect(storedText == nil, sourceLocation: sourceLocation)
        }
      }
      let city = columns.first { $0.key.contains("CITY") }?.value
      #expect(
        object.address(of: "place.city") as? String == city.flatMap { $0.isNull ? nil : $0.string },
        sourceLocation: sourceLocation)
      let owner = columns["ZOWNER"].flatMap { $0.isNull ? nil : $0.integer }
      #expect((object.value(forKey: "owner") as? NSManagedObject)?.key == owner, sourceLocation: sourceLocation)
      if object.entity.name == "Tile" {
        let colour = columns["ZCOLOUR"].flatMap { $0.isNull ? nil : $0.string }
        #expect(object.value(forKey: "colour") as? String == colour, sourceLocation: sourceLocation)
      }
    }
  }

  private func fetched(in context: NSManagedObjectContext) throws -> [Int64: NSManagedObject] {
    let objects = try context.all("Cell")
    return Dictionary(uniqueKeysWithValues: objects.map { ($0.key, $0) })
  }

  // MARK: Tests

  @Test(arguments: [1, 2, 3]) func rowsAreReadAsSQLiteHasThem(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let store = try filledStore(rows: 300, &random)
    let rows = try PlainColumn.rows(of: store)
    let coordinator = try store.otherCoordinator()
    let first = coordinator.context()
    try first.performAndWait { try compare(fetched(in: first), rows) }
    // From the row cache, each alone.
    let second = coordinator.context()
    try second.performAndWait {
      let ids = try first.performAndWait { try first.all("Cell").map(\.objectID) }
      for id in ids { try compare([id.key: second.existingObject(with: id)], rows) }
    }
    // From the file, each alone.
    let third = try store.otherCoordinator().context()
    try third.performAndWait {
      let request = NSFetchRequest<NSManagedObject>(entityName: "Cell")
      request.includesPropertyValues = false
      for object in try third.fetch(request) { try compare([object.key: object], rows) }
    }
  }

  @Test func aRowOutlivesItsNeighbours() throws {
    var random = SeededGenerator(seed: 4)
    let store = try filledStore(rows: 200, &random)
    let rows = try PlainColumn.rows(of: store)
    let context = try store.otherCoordinator().context()
    try context.performAndWait {
      let kept = try fetched(in: context).filter { $0.key % 41 == 0 }
      context.refreshAllExcept(Array(kept.values))
      for persistentStore in context.persistentStoreCoordinator?.persistentStores ?? [] {
        (persistentStore as? any ObjectStore)?.rowCache.removeAll()
      }
      try compare(kept, rows)
    }
  }

  @Test func changedRowsKeepWhatWasNotChanged() throws {
    var random = SeededGenerator(seed: 5)
    let store = try filledStore(rows: 120, &random)
    // A save refuses numbers that do not fit.
    for (column, bits) in [("ZSMALL", 15), ("ZMIDDLE", 31)] {
      _ = try store.sql(
        """
        UPDATE ZCELL SET \(column) = 7 WHERE CAST(\(column) AS INTEGER) NOT BETWEEN \(-(1 << bits)) \
        AND \((1 << bits) - 1)
        """)
    }
    let context = try store.otherCoordinator().context()
    try context.performAndWait {
      let objects = try fetched(in: context)
      // Each object gets a row of its own: an unchanged one, one with a text, one without.
      for (key, object) in objects {
        let name = Self.texts[Int(key) % 6]
        let before = object.value(forKey: name)
        object.setValue(before, forKey: name)
        #expect(!object.hasPersistentChangedValues)
        if key % 3 == 0 { object.setValue("changed \(key) in a longer text than a word has room for", forKey: name) }
        if key % 3 == 1 { object.setValue(nil, forKey: name) }
        if key % 5 == 0 { object.setValue(object.value(forKey: "large"), forKey: "large") }
      }
      try context.save()
      try compare(objects, PlainColumn.rows(of: store))
      for (key, object) in objects where key % 2 == 0 { object.setValue("again \(key)", forKey: "text0") }
      context.rollback()
      try compare(objects, PlainColumn.rows(of: store))
    }
    let other = NSManagedObjectContext(.privateQueue)
    other.persistentStoreCoordinator = context.persistentStoreCoordinator
    try other.performAndWait { try compare(fetched(in: other), PlainColumn.rows(of: store)) }
  }

  /// The Kelvin sign is a K for Swift, and another text here.
  @Test func textsAreEqualIfTheirBytesAre() {
    let texts: [String?] = [
      nil, "", "a", "K", "\u{212A}", "ab", "Kb", "\u{212A}b", "\u{e9}", "e\u{301}", "a text of ASCII that is long",
      "a text of ASCII that is lonk", "a text with \u{e9} that is long", "a text with e\u{301} that is long",
    ]
    let layout = LibraryModel.entity("Pair", ["a", "b"].map { LibraryModel.attribute($0, .stringAttributeType) }).layout
    /// A row of two texts, each packed or not.
    func row(_ packed: (String?, String?), _ plain: (String?, String?)) -> Snapshot {
      let packer = RowPacker(keepsRowsApart: true)
      var row = packer.begin(layout)
      for (slot, text) in [packed.0, packed.1].enumerated() {
        if var text { text.withUTF8 { row.add($0, to: row.slots + slot) } }
      }
      row.holdsReferences = true
      let snapshot = packer.finish(row, layout, version: 1)
      if let text = plain.0 { snapshot.assign(slot: 0, to: text) }
      if let text = plain.1 { snapshot.assign(slot: 1, to: text) }
      return snapshot
    }
    for one in texts {
      for other in texts {
        let isEqual = one.map { Array($0.utf8) } == other.map { Array($0.utf8) }
        for snapshot in [
          row((one, other), (nil, nil)), row((one, nil), (nil, other)), row((nil, other), (one, nil)),
          row((nil, nil), (one, other)),
        ] {
          withExtendedLifetime(snapshot.slab) {
            #expect(
              String.areEqual(snapshot.slots, snapshot.slots + 1) == isEqual, "\(one ?? "nil"), \(other ?? "nil")")
          }
        }
      }
    }
  }

  @Test func noTextLooksLikeAPackedOne() {
    var slot = SnapshotSlot.nilSlot(.string)
    let texts = [
      "", "a", "fifteen bytes !", "sixteen bytes !!", "😃", String(repeating: "é", count: 5000), "a\u{0}b",
      String("a text that was cut out of another one".dropFirst(3)), NSString(string: "from Foundation") as String,
    ]
    for text in texts {
      String.assign(&slot, text)
      #expect(slot.second != PackedText.mark)
      let loaded = String.load(&slot)
      #expect(loaded == text)
    }
    slot.setNil(.string)
    let isNil = slot.isNil(.string)
    #expect(isNil)
  }
}

extension NSManagedObject {
  fileprivate func address(of path: String) -> Any? { value(forKeyPath: path) }
}

extension NSManagedObjectContext {
  /// Drops the values of all objects but these.
  fileprivate func refreshAllExcept(_ kept: [NSManagedObject]) {
    let kept = Set(kept.map(ObjectIdentifier.init))
    for object in registeredObjects where !kept.contains(ObjectIdentifier(object)) {
      refresh(object, mergeChanges: false)
    }
  }
}
