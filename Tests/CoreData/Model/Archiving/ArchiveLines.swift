import Foundation
import Testing

@testable import CoreData

/// Two models that must be equal; the lines of their archives show what differs.
func expectSame(
  _ one: NSManagedObjectModel, _ other: NSManagedObjectModel, except keys: [String] = [],
  sourceLocation: SourceLocation = #_sourceLocation
) throws {
  guard one != other else { return }
  let (ours, theirs) = try (
    ArchiveLines(ModelArchive.data(of: one)).lines, ArchiveLines(ModelArchive.data(of: other)).lines
  )
  let differences = ours.symmetricDifference(theirs).filter { line in !keys.contains { line.contains(" \($0) = ") } }
  guard keys.isEmpty || !differences.isEmpty else { return }
  Issue.record("\(differences.sorted())", sourceLocation: sourceLocation)
}

/// The content of a model's archive as lines, without what the order of its objects decides.
struct ArchiveLines {
  private(set) var lines: Set<String> = []

  /// The properties that stand for inherited ones, which some frameworks wrote instead of copies.
  private(set) var inherited: Set<String> = []

  init(_ archive: Data, without left: Set<String> = []) throws {
    let root = try #require(KeyedArchive(archive).root)
    add(root, at: "model")
    for (name, entity) in root.entries("NSEntities") {
      add(entity, at: name)
      for (key, property) in entity.entries("NSProperties") where !left.contains("\(name).\(key)") {
        if property.className == "_NSPropertyDescriptionProxy" {
          inherited.insert("\(name).\(key)")
        } else {
          add(property, at: "\(name).\(key)")
        }
      }
      for index in entity.objects("NSFetchIndexDescriptions") {
        let place = "\(name) index \(index.string("NSIndexName") ?? "")"
        add(index, at: place)
        for element in index.objects("NSIndexElements") { add(element, at: place + " element") }
      }
    }
  }

  private mutating func add(_ object: ArchivedObject, at place: String) {
    lines.insert("\(place) is \(object.className)")
    for key in object.keys {
      // Some archives have lists without members, others leave them out.
      if let text = text(object, key), text != "[] []" { lines.insert("\(place) \(key) = \(text)") }
    }
  }

  /// What does not lead to entities or properties, which have lines of their own.
  private func text(_ object: ArchivedObject, _ key: String) -> String? {
    if ["NSProperties", "NSEntities", "NSSubentities", "NSFetchIndexDescriptions", "NSIndexElements", "$class"]
      .contains(key)
    {
      return nil
    }
    if let inner = object.object(key) {
      if let name = inner.string("NSEntityName") { return "entity \(name)" }
      if let name = inner.string("NSPropertyName") { return "property \(name)" }
      if let name = inner.string("NSIndexName") { return "index \(name)" }
      if inner.className == "NSManagedObjectModel" { return "model" }
      if let predicate = inner.predicate { return predicate.canonicalFormat }
      if let expression = inner.expression { return expression.description }
      if let request = inner.string("NSFetchRequestFlags") { return request }
      if inner.className.hasSuffix("Array") || inner.className.hasSuffix("Set") {
        let members = inner.objects.map {
          "\($0.string("NSEntityName") ?? "") \($0.predicate.map(\.canonicalFormat) ?? $0.strings.description)"
        }
        return "\(object.strings(key)) \(members.sorted())"
      }
      if inner.className.hasSuffix("Dictionary") {
        let entries = inner.entries.map { entry in
          "\(entry.key): \(entry.object.objects.compactMap { $0.string("NSEntityName") }.sorted())"
        }
        if !entries.isEmpty { return entries.sorted().description }
      }
    }
    return object.value(key).map { "\($0)" } ?? "nil"
  }
}
