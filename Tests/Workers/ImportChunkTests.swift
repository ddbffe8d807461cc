import CoreData
import Foundation
import Jobs
import Testing

@testable import worker_import

@Suite struct ImportChunkTests {
  /// Person (name, every attribute type) with a mother, in a store in memory.
  private func context() throws -> NSManagedObjectContext {
    let person = NSEntityDescription()
    person.name = "Person"
    let types: [(String, NSAttributeType)] = [
      ("name", .stringAttributeType), ("small", .integer16AttributeType), ("large", .integer64AttributeType),
      ("real", .doubleAttributeType), ("single", .floatAttributeType), ("exact", .decimalAttributeType),
      ("flag", .booleanAttributeType),
      ("born", .dateAttributeType), ("id", .UUIDAttributeType), ("home", .URIAttributeType),
      ("photo", .binaryDataAttributeType),
    ]
    var properties: [NSPropertyDescription] = types.map { name, type in
      let attribute = NSAttributeDescription()
      attribute.name = name
      attribute.attributeType = type
      return attribute
    }
    let mother = NSRelationshipDescription()
    mother.name = "mother"
    mother.maxCount = 1
    mother.destinationEntity = person
    let children = NSRelationshipDescription()
    children.name = "children"
    children.destinationEntity = person
    mother.inverseRelationship = children
    children.inverseRelationship = mother
    properties += [mother, children]
    person.properties = properties
    let model = NSManagedObjectModel()
    model.entities = [person]
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return context
  }

  private func apply(
    _ rows: [[String: JSONValue]], _ context: NSManagedObjectContext, parameters more: [JSONMember] = []
  ) throws -> ImportOutcome {
    let parameters = try ImportParameters(
      .object([JSONMember("file", "/x.json"), JSONMember("entity", "Person"), JSONMember("key", "name")] + more))
    let model = try #require(context.persistentStoreCoordinator?.managedObjectModel)
    let plan = try ImportPlan(parameters, model: model)
    return try context.performAndWait {
      var chunk = ImportChunk(plan: plan, context: context)
      let outcome = try chunk.apply(rows.enumerated().map { ImportRow(number: $0 + 1, fields: $1) })
      return outcome
    }
  }

  private let mothers = JSONMember("relationships", ["mother": ["key": "name", "value": "{mother}"]])

  private func person(_ name: String, _ context: NSManagedObjectContext) throws -> NSManagedObject {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Person")
    request.predicate = NSPredicate(format: "name == %@", name)
    return try #require(try context.fetch(request).first)
  }

  @Test func everyTypeIsReadFromJSONAndFromText() throws {
    let context = try context()
    let id = UUID()
    let typed: [String: JSONValue] = [
      "name": "A", "small": -5, "large": .number("9223372036854775807"), "real": .number("0.1"),
      "exact": .number("1.50"), "flag": true, "born": "2001-01-01T00:00:01Z", "id": .string(id.uuidString),
      "home": "http://example.org/a", "photo": "AQI=",
    ]
    let texts = typed.mapValues { JSONValue.string($0.stringValue ?? $0.text) }.merging(["name": "B"]) { $1 }
    #expect(try apply([typed, texts], context).inserted == 2)
    try context.performAndWait {
      for name in ["A", "B"] {
        let object = try person(name, context)
        #expect(object.value(forKey: "small") as? Int == -5)
        #expect((object.value(forKey: "large") as? NSNumber)?.int64Value == .max)
        #expect(object.value(forKey: "real") as? Double == 0.1)
        #expect((object.value(forKey: "exact") as? NSDecimalNumber)?.decimalValue == Decimal(string: "1.5"))
        #expect(object.value(forKey: "flag") as? Bool == true)
        #expect((object.value(forKey: "born") as? Date)?.timeIntervalSinceReferenceDate == 1)
        #expect(object.value(forKey: "id") as? UUID == id)
        #expect((object.value(forKey: "home") as? URL)?.absoluteString == "http://example.org/a")
        #expect(object.value(forKey: "photo") as? Data == Data([1, 2]))
      }
    }
  }

  @Test func theSameRowsAgainChangeNothing() throws {
    let context = try context()
    let rows: [[String: JSONValue]] = [
      ["name": "A", "small": 1, "real": .number("0.5"), "born": "2020-02-02", "mother": "M"],
      ["name": "M", "flag": false],
    ]
    #expect(try apply(rows, context, parameters: [mothers]).inserted == 1)
    try context.performAndWait { try context.save() }
    let again = try apply(rows, context, parameters: [mothers])
    #expect(again.inserted == 0 && again.changed == 0)
    context.performAndWait { #expect(!context.hasChanges) }
  }

  @Test func aMissingFieldLeavesAndNullEmpties() throws {
    let context = try context()
    _ = try apply([["name": "A", "small": 1, "large": 2]], context)
    _ = try apply([["name": "A", "large": nil]], context)
    try context.performAndWait {
      let object = try person("A", context)
      #expect(object.value(forKey: "small") as? Int == 1)
      #expect(object.value(forKey: "large") == nil)
    }
  }

  @Test func aRelationshipLeadsToRowsOfTheSameFileBeforeAndAfter() throws {
    let context = try context()
    _ = try apply(
      [["name": "A", "mother": "M"], ["name": "M", "mother": "G"], ["name": "G"]], context, parameters: [mothers])
    try context.performAndWait {
      let all = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Person"))
      #expect(all.count == 3)
      let mother = try person("A", context).value(forKey: "mother") as? NSManagedObject
      #expect(mother?.value(forKey: "name") as? String == "M")
      #expect((mother?.value(forKey: "mother") as? NSManagedObject)?.value(forKey: "name") as? String == "G")
    }
  }

  @Test func aMissingDestinationIsAnErrorOrSkippedOnRequest() throws {
    let context = try context()
    let error = #expect(throws: RowError.self) {
      try apply([["name": "A", "mother": "M"]], context, parameters: [mothers, JSONMember("missing", "error")])
    }
    #expect(error?.description == "row 1: field \"mother\": no Person has that name")
    let skipped = try apply(
      [["name": "B", "mother": "M"]], context, parameters: [mothers, JSONMember("missing", "skip")])
    #expect(skipped.inserted == 1)
  }

  private static let wrongValues: [(String, JSONValue, String)] = [
    ("small", .number("40000"), "a whole number of 16 bits"), ("small", "x", "a whole number of 16 bits"),
    ("real", "much", "a number"), ("flag", "perhaps", "true or false"), ("born", 5, "a date"), ("id", "x", "a UUID"),
    ("photo", "*", "data in base64"),
  ]

  @Test(arguments: wrongValues)
  func aValueOfAnotherTypeNamesRowFieldAndType(field: String, value: JSONValue, expected: String) throws {
    let context = try context()
    let error = #expect(throws: RowError.self) {
      try apply([["name": "ok"], ["name": "A"].merging([field: value]) { $1 }], context)
    }
    #expect(error?.description.hasPrefix("row 2: field \"\(field)\": \(expected) is expected for \(field)") == true)
  }

  /// Each was taken by its beginning, or as something else, without a word.
  private static let halfReadValues: [(String, [String], String)] = [
    (
      "exact", ["1,234.56", "12 EUR", "1.5.6", "0x10", "1 234", "1e", "e5", ".", "-", "", "nan", "1e200"],
      "a decimal number"
    ),
    // More digits than the store keeps: they were cut off when the chunk was saved.
    ("exact", ["1234567890.1234567891", "9223372036854775808", String(repeating: "1", count: 39)], "a decimal number"),
    ("real", ["0x10", "nan", "inf", "-infinity", "1e999", "1,5", "12 EUR"], "a number"),
    ("single", ["0x10", "nan", "1e39"], "a number"),
    ("small", ["12 34", "0x10", "32768", "-32769", "1.5", "1e5", "12EUR"], "a whole number of 16 bits"),
    ("large", ["9223372036854775808", "9007199254740993.5", "1e19", "0x10", "nan"], "a whole number of 64 bits"),
    ("flag", ["truely", "10", "1.0"], "true or false"),
    ("born", ["2026-02-31", "2026-01-31x", "2026-01-31T08:00:00Zjunk", "31.1.2026"], "a date"),
    ("id", ["E621E1F8-C36C-495A-93FC-0C247A3E6E5Fx"], "a UUID"),
    ("home", ["not a uri", ""], "a URI"),
    ("photo", ["AQI=AQI=x", "AQI"], "data in base64"),
  ]

  @Test(arguments: halfReadValues)
  func aValueIsReadWholeOrIsAnErrorThatShowsIt(field: String, texts: [String], expected: String) throws {
    for text in texts {
      let context = try context()
      let error = #expect(throws: RowError.self, "\(text) was taken") {
        try apply([["name": "A", field: .string(text)]], context)
      }
      let description = error?.description ?? ""
      #expect(description.hasPrefix("row 1: field \"\(field)\": \(expected)"), "\(description)")
      #expect(description.contains("but it is \"\(text.prefix(30))"), "\(description)")
    }
  }

  @Test func numbersKeepEveryDigit() throws {
    let context = try context()
    let exact = ["A": "1234567.8912345", "B": "-9223372036854775808", "C": "0.0015", "D": "9007199254740993"]
    _ = try apply(
      [
        ["name": "A", "exact": "1234567.8912345", "large": "9007199254740993.0", "small": " -1.2e3 ", "single": "1.5"],
        ["name": "B", "exact": "-9223372036854775808", "large": "-9223372036854775808"],
        ["name": "C", "exact": "1.5E-3", "large": "+5"], ["name": "D", "exact": "9007199254740993.00"],
      ], context)
    try context.performAndWait {
      try context.save()
      context.reset()
      for (name, digits) in exact {
        #expect((try person(name, context).value(forKey: "exact") as? NSDecimalNumber)?.description == digits)
      }
      let (a, b, c) = (try person("A", context), try person("B", context), try person("C", context))
      #expect(a.value(forKey: "large") as? Int64 == 9_007_199_254_740_993, "not by way of a double")
      #expect(a.value(forKey: "small") as? Int == -1200)
      #expect(a.value(forKey: "single") as? Float == 1.5)
      #expect(b.value(forKey: "large") as? Int64 == .min)
      #expect(c.value(forKey: "large") as? Int == 5)
    }
  }

  @Test func anErrorShowsTheBeginningOfALongField() throws {
    let context = try context()
    let error = #expect(throws: RowError.self) {
      try apply([["name": "A", "small": .string(String(repeating: "x", count: 10_000))]], context)
    }
    #expect((error?.description.count ?? 0) < 200, "\(String(describing: error))")
  }

  private static let wrongParameters: [([String: JSONValue], String)] = [
    (["entity": "Persn"], "did you mean Person?"), (["key": "nam"], "did you mean name?"),
    (["map": ["x": "smal"]], "did you mean small?"),
    (["relationships": ["mothr": ["key": "name", "value": "x"]]], "did you mean mother?"),
    (["chunck": 1], "did you mean \"chunk\"?"), (["missing": "crate"], "did you mean \"create\"?"),
    (["format": "xml"], "it is json or jsonl or csv"),
  ]

  @Test(arguments: wrongParameters)
  func aWrongParameterNamesTheRightOne(wrong: [String: JSONValue], message: String) throws {
    let context = try context()
    let model = try #require(context.persistentStoreCoordinator?.managedObjectModel)
    var members: [String: JSONValue] = ["file": "/x.json", "entity": "Person", "key": "name"]
    members.merge(wrong) { $1 }
    do {
      let parameters = try ImportParameters(.object(members.map { JSONMember($0, $1) }))
      _ = try ImportPlan(parameters, model: model)
      Issue.record("taken")
    } catch {
      #expect("\(error)".contains(message), "\(error)")
    }
  }
}
