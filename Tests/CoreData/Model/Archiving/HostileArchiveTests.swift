import Foundation
import TestFiles
import Testing

@testable import CoreData

/// Archives that no framework wrote: each is an error, or some model, and never ends the process.
@Suite("Damaged and hostile archives") struct HostileArchiveTests {
  /// The objects of an archive, before it is written as a binary property list.
  private struct Archive {
    var objects: [Any] = ["$null"]

    mutating func add(_ object: Any) -> Int {
      objects.append(object)
      return objects.count - 1
    }

    mutating func add(_ name: String, _ fields: [String: Any]) -> Int {
      let kind = add(["$classname": name, "$classes": [name, "NSObject"]])
      var object = fields
      object["$class"] = Reference(kind)
      return add(object)
    }

    mutating func dictionary(_ entries: [(String, Int)]) -> Int {
      let keys = entries.map { Reference(add($0.0)) }
      return add("NSMutableDictionary", ["NS.keys": keys, "NS.objects": entries.map { Reference($0.1) }])
    }

    mutating func array(_ places: [Int]) -> Int { add("NSArray", ["NS.objects": places.map { Reference($0) }]) }

    func data(root: Int) -> Data {
      BinaryList.data(
        [
          "$archiver": "NSKeyedArchiver", "$version": 100_000, "$top": ["root": Reference(root)], "$objects": objects,
        ])
    }

    /// A model of entities.
    mutating func model(_ entities: [(String, Int)]) -> Data {
      let all = dictionary(entities)
      // The root first: `data` would copy the archive before its argument adds to it.
      let root = add("NSManagedObjectModel", ["NSEntities": Reference(all)])
      return data(root: root)
    }
  }

  private func read(_ data: Data) throws -> NSManagedObjectModel {
    let model = NSManagedObjectModel()
    try ArchivedModel.read(data, into: model)
    return model
  }

  private func expectRefusal(_ data: Data, _ reason: String, sourceLocation: SourceLocation = #_sourceLocation) {
    do {
      _ = try read(data)
      Issue.record("It was read.", sourceLocation: sourceLocation)
    } catch {
      let text = (error as? ModelElementsError)?.reason ?? "\(error)"
      #expect(text.contains(reason), sourceLocation: sourceLocation)
    }
  }

  @Test("A model of this form is read")
  func plain() throws {
    var archive = Archive()
    let name = archive.add("NSAttributeDescription", ["NSPropertyName": "name", "NSAttributeType": 700])
    let properties = archive.dictionary([("name", name)])
    let entity = archive.add("NSEntityDescription", ["NSEntityName": "A", "NSProperties": Reference(properties)])
    let model = try read(archive.model([("A", entity)]))
    #expect(model.entitiesByName["A"]?.attributesByName["name"]?.attributeType == .stringAttributeType)
  }

  @Test("Entities below themselves, without a name or of one name are refused")
  func entities() {
    var archive = Archive()
    let first = archive.add("NSEntityDescription", ["NSEntityName": "A"])
    let second = archive.add("NSEntityDescription", ["NSEntityName": "B", "NSSuperentity": Reference(first)])
    if var fields = archive.objects[first] as? [String: Any] {
      fields["NSSuperentity"] = Reference(second)
      archive.objects[first] = fields
    }
    expectRefusal(archive.model([("A", first), ("B", second)]), "below itself")
    archive = Archive()
    let twins = (0..<2).map { _ in archive.add("NSEntityDescription", ["NSEntityName": "A"]) }
    expectRefusal(archive.model(twins.map { ("A", $0) }), "two entities")
    archive = Archive()
    let nameless = archive.add("NSEntityDescription", [:])
    expectRefusal(archive.model([("A", nameless)]), "without a name")
  }

  @Test("Properties of one name, or of unknown kinds, are refused")
  func properties() {
    for fields in [["NSPropertyName": "same"], [:]] {
      var archive = Archive()
      let twins = (0..<2).map { _ in archive.add("NSAttributeDescription", fields) }
      let all = archive.dictionary([("x", twins[0]), ("y", twins[1])])
      let entity = archive.add("NSEntityDescription", ["NSEntityName": "A", "NSProperties": Reference(all)])
      expectRefusal(archive.model([("A", entity)]), "share a name or have none")
    }
    var archive = Archive()
    let stranger = archive.add("NSTask", ["NSPropertyName": "x"])
    let all = archive.dictionary([("x", stranger)])
    let entity = archive.add("NSEntityDescription", ["NSEntityName": "A", "NSProperties": Reference(all)])
    expectRefusal(archive.model([("A", entity)]), "unknown kind NSTask")
  }

  /// An archive with an attribute whose only validation predicate is an object of the archive.
  private func archive(ofPredicate make: (inout Archive) -> Int) -> Data {
    var archive = Archive()
    let predicate = make(&archive)
    let predicates = archive.array([predicate])
    let attribute = archive.add(
      "NSAttributeDescription",
      ["NSPropertyName": "a", "NSAttributeType": 700, "NSValidationPredicates": Reference(predicates)])
    let all = archive.dictionary([("a", attribute)])
    let entity = archive.add("NSEntityDescription", ["NSEntityName": "A", "NSProperties": Reference(all)])
    return archive.model([("A", entity)])
  }

  @Test("A predicate inside of itself is refused")
  func cyclicPredicate() {
    expectRefusal(
      archive { archive in
        let parts = archive.objects.count
        _ = archive.array([parts + 3])
        return archive.add(
          "NSCompoundPredicate", ["NSCompoundPredicateType": 1, "NSSubpredicates": Reference(parts + 1)])
      }, "contain themselves")
  }

  @Test("An expression inside of itself is refused")
  func cyclicExpression() {
    expectRefusal(
      archive { archive in
        let list = archive.objects.count + 1
        _ = archive.array([list + 2])
        let expression = archive.add("NSAggregateExpression", ["NSCollection": Reference(list)])
        let comparison = archive.add("NSPredicateOperator", ["NSOperatorType": 4])
        return archive.add(
          "NSComparisonPredicate",
          [
            "NSLeftExpression": Reference(expression), "NSRightExpression": Reference(expression),
            "NSPredicateOperator": Reference(comparison),
          ])
      }, "contain themselves")
  }

  @Test("Predicates and values that double with each level are refused in time", .timeLimit(.minutes(20)))
  func doubling() {
    expectRefusal(
      archive { archive in
        var inner = archive.add("NSTruePredicate", [:])
        for _ in 0..<60 {
          let parts = archive.array([inner, inner])
          inner = archive.add(
            "NSCompoundPredicate", ["NSCompoundPredicateType": 1, "NSSubpredicates": Reference(parts)])
        }
        return inner
      }, "contain themselves")
    var archive = Archive()
    var inner = archive.add("text")
    for _ in 0..<30 { inner = archive.array([inner, inner]) }
    let attribute = archive.add(
      "NSAttributeDescription",
      ["NSPropertyName": "a", "NSAttributeType": 1800, "NSDefaultValue": Reference(inner)])
    let all = archive.dictionary([("a", attribute)])
    let entity = archive.add("NSEntityDescription", ["NSEntityName": "A", "NSProperties": Reference(all)])
    expectRefusal(archive.model([("A", entity)]), "contain themselves")
    // A property list whose arrays double, without references of an archive.
    var list: Any = "text"
    for _ in 0..<50 { list = [list, list] }
    expectRefusal(BinaryList.sharing(list as? [Any] ?? []), "damaged")
  }

  @Test("A composite inside of itself is refused")
  func cyclicComposite() {
    var archive = Archive()
    let place = archive.objects.count + 3
    let elements = archive.array([place])
    let composite = archive.add(
      "NSCompositeAttributeDescription",
      ["NSPropertyName": "c", "NSAttributeType": 2100, "NSElements": Reference(elements)])
    #expect(composite == place)
    let all = archive.dictionary([("c", composite)])
    let entity = archive.add("NSEntityDescription", ["NSEntityName": "A", "NSProperties": Reference(all)])
    expectRefusal(archive.model([("A", entity)]), "contain themselves")
  }

  @Test("Numbers out of range and values of other classes make no trap")
  func wrongValues() throws {
    let odd: [Any] = [-1, Int.max, Int.min, 3.5, "text", Data([1]), true]
    for value in odd {
      var archive = Archive()
      let decimal = archive.add(
        "NSDecimalNumber",
        ["NS.mantissa": Data([1, 0, 2]), "NS.length": value, "NS.exponent": value, "NS.negative": value])
      let parts = archive.array([])
      let predicate = archive.add(
        "NSCompoundPredicate", ["NSCompoundPredicateType": value, "NSSubpredicates": Reference(parts)])
      let predicates = archive.array([predicate])
      let attribute = archive.add(
        "NSAttributeDescription",
        [
          "NSPropertyName": "a", "NSAttributeType": value, "NSDefaultValue": Reference(decimal), "NSFlagsKey": value,
          "NSValidationPredicates": Reference(predicates), "NSValidationWarnings": value, "NSUserInfo": value,
        ])
      let relationship = archive.add(
        "NSRelationshipDescription",
        [
          "NSPropertyName": "r", "NSDeleteRule": value, "NSMaxCount": value, "NSMinCount": value, "NSIsOrdered": value,
          "NSDestinationEntity": value, "NSInverseRelationship": value,
        ])
      let all = archive.dictionary([("a", attribute), ("r", relationship)])
      let element = archive.add("NSFetchIndexElementDescription", ["NSFetchIndexElementType": value])
      let elements = archive.array([element])
      let index = archive.add(
        "NSFetchIndexDescription", ["NSIndexName": value, "NSIndexElements": Reference(elements)])
      let indexes = archive.array([index])
      let entity = archive.add(
        "NSEntityDescription",
        [
          "NSEntityName": "A", "NSProperties": Reference(all), "NSUniqueTuples": value,
          "NSFetchIndexDescriptions": Reference(indexes),
        ])
      if let model = try? read(archive.model([("A", entity)])) {
        _ = (model.entityVersionHashesByName, ModelArchive.data(of: model))
      }
    }
  }

  @Test("An optimised model is told as such if no readable one lies beside it")
  func optimised() throws {
    let folder = temporaryURL("omo")
    let bundle = folder.appendingPathComponent("A.momd")
    try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let optimised = bundle.appendingPathComponent("A.omo")
    try Data("momv2$…".utf8).write(to: optimised)
    for url in [bundle, optimised] {
      #expect(NSManagedObjectModel(contentsOf: url) == nil)
      let error = #expect(throws: ManagedObjectModelError.self) { try NSManagedObjectModel.load(contentsOf: url) }
      #expect(error?.description.contains("A.omo is the optimised form") == true, "\(error?.description ?? "")")
    }
  }

  @Test("Mapping models are read under the same limits")
  func mappingModels() throws {
    let folder = temporaryURL("cdm")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("A.cdm")
    var archive = Archive()
    let list = archive.objects.count + 1
    _ = archive.array([list + 2])
    let expression = archive.add("NSAggregateExpression", ["NSCollection": Reference(list)])
    let mapping = archive.add("NSEntityMapping", ["NSSourceExpression": Reference(expression)])
    let mappings = archive.array([mapping])
    let root = archive.add("NSMappingModel", ["NSEntityMappings": Reference(mappings)])
    try archive.data(root: root).write(to: file)
    #expect(NSMappingModel(contentsOf: file) == nil)
  }
}

/// A reference of a keyed archive.
private struct Reference {
  let place: Int
  init(_ place: Int) { self.place = place }
}

/// Writes binary property lists with references, also wrong ones.
private enum BinaryList {
  static func data(_ root: Any) -> Data {
    var objects: [[UInt8]] = []
    _ = add(root, &objects)
    return file(objects)
  }

  /// Arrays of two equal elements, each of which is written once.
  static func sharing(_ list: [Any]) -> Data {
    var depth = 0
    var next: Any = list
    while let array = next as? [Any] {
      depth += 1
      next = array[0]
    }
    let objects: [[UInt8]] = (0..<depth).map { [0xA2] + reference($0 + 1) + reference($0 + 1) } + [[0x51, 0x61]]
    return file(objects)
  }

  private static func reference(_ index: Int) -> [UInt8] { [UInt8(index >> 8), UInt8(index & 0xff)] }

  private static func integer(_ value: Int) -> [UInt8] {
    [0x13] + (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * $0)) }
  }

  private static func marker(_ kind: UInt8, _ count: Int) -> [UInt8] {
    count < 15 ? [kind << 4 | UInt8(count)] : [kind << 4 | 0xf] + integer(count)
  }

  private static func add(_ value: Any, _ objects: inout [[UInt8]]) -> Int {
    let place = objects.count
    objects.append([])
    switch value {
    case let value as Reference: objects[place] = [0x81] + reference(value.place)
    case let value as Bool where type(of: value) == Bool.self: objects[place] = [value ? 9 : 8]
    case let value as Int: objects[place] = integer(value)
    case let value as Double:
      objects[place] = [0x23] + (0..<8).map { UInt8(truncatingIfNeeded: value.bitPattern >> (56 - 8 * UInt64($0))) }
    case let value as Data: objects[place] = marker(4, value.count) + value
    case let value as String: objects[place] = marker(5, value.utf8.count) + Array(value.utf8)
    case let value as [Any]:
      let places = value.flatMap { reference(add($0, &objects)) }
      objects[place] = marker(0xA, value.count) + places
    case let value as [String: Any]:
      let keys = value.keys.flatMap { reference(add($0, &objects)) }
      let values = value.values.flatMap { reference(add($0, &objects)) }
      objects[place] = marker(0xD, value.count) + keys + values
    default: objects[place] = [0]
    }
    return place
  }

  private static func file(_ objects: [[UInt8]]) -> Data {
    var bytes = Array("bplist00".utf8)
    var table: [UInt8] = []
    for object in objects {
      table += (0..<4).map { UInt8(truncatingIfNeeded: bytes.count >> (24 - 8 * $0)) }
      bytes += object
    }
    let start = bytes.count
    bytes += table + [0, 0, 0, 0, 0, 0, 4, 2]
    for number in [objects.count, 0, start] { bytes += integer(number).dropFirst() }
    return Data(bytes)
  }
}
