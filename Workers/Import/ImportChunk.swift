import CoreData
import Jobs

/// Brings a few rows into a context: finds or inserts their objects, sets what differs, leaves the rest alone.
///
/// One fetch for each entity and key attribute finds the objects, no matter how many rows there are.
struct ImportChunk {
  let plan: ImportPlan
  let context: NSManagedObjectContext
  private var objects: [ImportPlan.ObjectIndex: [AnyHashable: NSManagedObject]] = [:]

  init(plan: ImportPlan, context: NSManagedObjectContext) {
    self.plan = plan
    self.context = context
  }

  /// A row with its key and the keys of the objects that it relates to.
  private struct KeyedRow {
    let row: ImportRow
    let key: AnyHashable
    let links: [AnyHashable?]
  }

  /// Applies the rows in their order; of two rows with one key the later one wins.
  ///
  /// - Throws: ``RowError`` for the first row that cannot be taken.
  @discardableResult
  mutating func apply(_ rows: [ImportRow]) throws -> ImportOutcome {
    let keyed = try rows.map(keyedRow)
    try fetch(keyed)
    var outcome = ImportOutcome()
    for row in keyed { try apply(row, &outcome) }
    return outcome
  }

  // MARK: Keys

  private func keyedRow(_ row: ImportRow) throws -> KeyedRow {
    let key = try convert(row.fields[plan.keyField] ?? .null, by: plan.key, in: row, field: plan.keyField)
    guard let key else {
      throw RowError(row: row.number, field: plan.keyField, reason: "has no value, but is the key")
    }
    let links = try plan.links.map { link -> AnyHashable? in
      guard var text = link.relationship.value.text(row) else { return nil }
      if let prefix = link.relationship.prefix?.text(row), !text.hasPrefix(prefix) { text = prefix + text }
      return try convert(.string(text), by: link.key, in: row, field: link.relationship.name)
    }
    return KeyedRow(row: row, key: key, links: links)
  }

  private func convert(
    _ json: JSONValue, by conversion: AttributeReader, in row: ImportRow, field: String
  ) throws(RowError) -> AnyHashable? {
    do {
      return try conversion.value(json) as? AnyHashable
    } catch {
      throw RowError(row: row.number, field: field, reason: error.reason)
    }
  }

  // MARK: Finding

  private mutating func fetch(_ rows: [KeyedRow]) throws {
    var neededKeys: [ImportPlan.ObjectIndex: Set<AnyHashable>] = [plan.index: Set(rows.map(\.key))]
    for (position, link) in plan.links.enumerated() {
      neededKeys[link.index, default: []].formUnion(rows.compactMap { $0.links[position] })
    }
    for (index, keys) in neededKeys {
      let request = NSFetchRequest<NSManagedObject>(entityName: index.entity)
      request.predicate = NSPredicate(format: "%K IN %@", index.attribute, keys.map(\.base))
      request.returnsObjectsAsFaults = false
      for object in try context.fetch(request) {
        guard let key = object.value(forKey: index.attribute) as? AnyHashable else { continue }
        objects[index, default: [:]][key] = object
      }
    }
  }

  private mutating func insert(_ index: ImportPlan.ObjectIndex, key: AnyHashable) -> NSManagedObject {
    let object = NSEntityDescription.insertNewObject(forEntityName: index.entity, into: context)
    object.setValue(key.base, forKey: index.attribute)
    objects[index, default: [:]][key] = object
    return object
  }

  // MARK: Setting

  private mutating func apply(_ keyed: KeyedRow, _ outcome: inout ImportOutcome) throws {
    let existing = objects[plan.index]?[keyed.key]
    let object = existing ?? insert(plan.index, key: keyed.key)
    var changed = false
    for column in plan.columns {
      // A field that the file does not have leaves the attribute as it is; null empties it.
      guard let field = keyed.row.fields[column.field] else { continue }
      let value = try convert(field, by: column.conversion, in: keyed.row, field: column.field)
      guard value != object.value(forKey: column.attribute) as? AnyHashable else { continue }
      object.setValue(value?.base, forKey: column.attribute)
      changed = true
    }
    for (link, key) in zip(plan.links, keyed.links) {
      let destination = try key.flatMap { try find($0, link, keyed.row) }
      if key != nil, destination == nil { outcome.skipped += 1 }
      guard destination !== object.value(forKey: link.relationship.name) as? NSManagedObject else { continue }
      object.setValue(destination, forKey: link.relationship.name)
      changed = true
    }
    if existing == nil { outcome.inserted += 1 } else if changed { outcome.changed += 1 }
  }

  private mutating func find(
    _ key: AnyHashable, _ link: ImportPlan.Link, _ row: ImportRow
  ) throws -> NSManagedObject? {
    if let object = objects[link.index]?[key] { return object }
    switch link.relationship.missing {
    case .skip: return nil
    case .error:
      throw RowError(
        row: row.number, field: link.relationship.name,
        reason: "no \(link.index.entity) has that \(link.index.attribute)")
    case .create: return insert(link.index, key: key)
    }
  }
}

/// What rows did to the store.
struct ImportOutcome: Codable, Hashable {
  /// Rows that made an object.
  var inserted = 0
  /// Rows that changed an object.
  var changed = 0
  /// References to objects that do not exist, left empty because `"missing"` is `"skip"`.
  var skipped = 0

  mutating func add(_ other: ImportOutcome) {
    inserted += other.inserted
    changed += other.changed
    skipped += other.skipped
  }
}
