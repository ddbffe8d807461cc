import CoreData
import Testing

/// A number that does not fit an Integer 16 or Integer 32 attribute: it is itself wherever it is read, and reaches no
/// store.
@Suite struct IntegerWidthTests {
  private static func model() -> NSManagedObjectModel {
    let count = LibraryModel.entity(
      "Count",
      [
        LibraryModel.attribute("short", .integer16AttributeType),
        LibraryModel.attribute("long", .integer32AttributeType),
        LibraryModel.attribute("note", .stringAttributeType),
        PlacesModel.composite("pair", [LibraryModel.attribute("short", .integer16AttributeType)]),
      ])
    count.managedObjectClassName = "NarrowCount"
    let model = NSManagedObjectModel()
    model.entities = [count]
    return model
  }

  private func code(_ body: () throws -> Void) -> Int? {
    do {
      try body()
      return nil
    } catch {
      return (error as NSError).code
    }
  }

  @Test(
    arguments: [
      ("short", 70_000, 1610), ("short", -32_769, 1620), ("long", 1 << 31, 1610), ("long", -(1 << 31) - 1, 1620),
    ])
  func aNumberThatDoesNotFitIsOneValueEverywhereAndIsNotSaved(key: String, number: Int, expected: Int) throws {
    let stack = try StoreStack(.file, Self.model())
    try stack.perform { context in
      let object = context.make("Count")
      object.setValue(number, forKey: key)
      func check() throws {
        #expect(object.value(forKey: key) as? Int == number && object.primitiveValue(forKey: key) as? Int == number)
        #expect(NSPredicate(format: "%K == %ld", key, number).evaluate(with: object))
        #expect(object.changedValues()[key] as? Int == number)
        try #expect(context.all("Count", where: "\(key) == \(number)") == [object])
        let error = #expect(throws: NSError.self) { try context.save() }
        #expect(error?.code == expected && error?.userInfo[NSValidationKeyErrorKey] as? String == key)
        #expect(error?.userInfo[NSValidationValueErrorKey] as? Int == number)
        let width = key == "short" ? 16 : 32
        #expect(error?.localizedDescription.hasSuffix("for an attribute of the type Integer \(width)") == true)
      }
      try check()
      object.setPrimitiveValue(7, forKey: key)
      try context.save()
      object.setPrimitiveValue(number, forKey: key)
      object.setValue("changed", forKey: "note")
      try check()
    }
  }

  @Test(arguments: StoreKind.allCases) func theLargestAndSmallestNumbersAreSaved(kind: StoreKind) throws {
    let stack = try StoreStack(kind, Self.model())
    let values = [(Int(Int16.max), Int(Int32.max)), (Int(Int16.min), Int(Int32.min))]
    try stack.perform { context in
      for (short, long) in values {
        let object = context.make("Count", ["short": short, "long": long])
        if kind != .cards, kind != .shelf { object.setValue(["short": short], forKey: "pair") }
      }
      try context.save()
    }
    try stack.perform { context in
      for (short, long) in values {
        let matches = try context.all("Count", where: "short == \(short) AND long == \(long)")
        #expect(matches.count == 1 && (matches.first as? NarrowCount)?.short == Int16(short))
        #expect(matches.first?.value(forKey: "long") as? Int32 == Int32(long))
      }
    }
  }

  @Test func anElementOfACompositeIsChecked() throws {
    let stack = try StoreStack(.file, Self.model())
    stack.perform { context in
      let object = context.make("Count")
      object.setValue(["short": 70_000], forKey: "pair")
      #expect(object.value(forKeyPath: "pair.short") as? Int == 70_000)
      let error = #expect(throws: NSError.self) { try context.save() }
      #expect(error?.code == 1610 && error?.userInfo[NSValidationKeyErrorKey] as? String == "pair.short")
    }
  }

  @Test(arguments: StoreKind.batching) func batchRequestsWriteNoNumberThatDoesNotFit(kind: StoreKind) throws {
    let stack = try StoreStack(kind, Self.model())
    stack.perform { context in
      func insert(_ row: [String: Any]) -> Int? {
        code { _ = try context.execute(NSBatchInsertRequest(entityName: "Count", objects: [["note": "first"], row])) }
      }
      #expect(insert(["short": 70_000]) == 1610 && insert(["long": -(1 << 31) - 1]) == 1620)
      #expect(insert(["pair": ["short": 70_000]]) == 1610)
      #expect(
        code {
          var isDone = false
          _ = try context.execute(
            NSBatchInsertRequest(
              entityName: "Count",
              managedObjectHandler: { object in
                object.setValue(70_000, forKey: "short")
                defer { isDone = true }
                return isDone
              }))
        } == 1610)
      #expect((try? context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Count"))) == 0)
      #expect(insert(["short": 32_000]) == nil)

      func update(_ key: String, _ value: Any) -> Int? {
        let request = NSBatchUpdateRequest(entityName: "Count")
        request.predicate = NSPredicate(format: "short > 0")
        request.propertiesToUpdate = [key: value]
        return code { _ = try context.execute(request) }
      }
      #expect(update("short", 70_000) == 1610 && update("pair.short", -70_000) == 1620)
      #expect(update("pair", NSExpression(forConstantValue: ["short": 70_000])) == 1610)
      #expect(update("short", NSExpression(format: "short + 1000")) == 1610, "the value of a row")
      #expect(update("long", NSExpression(format: "short * -100000")) == 1620)
      #expect(update("short", NSExpression(format: "short + 767")) == nil)
      let matches = try? context.all("Count", where: "short > 0")
      #expect(matches?.map { $0.value(forKey: "short") as? Int } == [32_767])
    }
  }

  /// Written by another program: validation never saw it.
  @Test func aNumberOfTheFileThatDoesNotFitIsReadAsItIs() throws {
    let store = try TemporaryStore(Self.model())
    try store.save { $0.make("Count", ["short": 1, "long": 1]) }
    _ = try store.sql("UPDATE ZCOUNT SET ZSHORT = 70000, ZLONG = 5000000000, ZPAIR_SHORT = 70000")
    try store.read { context in
      let object = try #require(context.all("Count", where: "short == 70000 AND pair.short == 70000").first)
      #expect(object.value(forKey: "short") as? Int == 70_000 && object.value(forKey: "long") as? Int == 5_000_000_000)
      #expect(object.value(forKeyPath: "pair.short") as? Int == 70_000)
      let request = NSFetchRequest<NSDictionary>(entityName: "Count")
      request.resultType = .dictionaryResultType
      request.propertiesToFetch = ["short"]
      try #expect(context.fetch(request).first?["short"] as? Int == 70_000)
      object.setValue("changed", forKey: "note")
      #expect(throws: NSError.self) { try context.save() }
    }
  }

  @Test func anAccessorThatCannotHoldTheNumberReadsTheNearest() throws {
    let store = try TemporaryStore(IntegerWidthTests.model())
    try store.context().performAndWaitWith { context in
      let object = try #require(context.make("Count", ["short": 70_000]) as? NarrowCount)
      #expect(object.short == .max && object.value(forKey: "short") as? Int == 70_000)
    }
  }
}

private final class NarrowCount: NSManagedObject {
  private static let shortProperty = ManagedProperty<Int16>("short")

  var short: Int16 { self[NarrowCount.shortProperty] }
}
