import CoreDataPostgreSQL
import Foundation
import Glibc
import TestFiles

/// Core Data on a PostgreSQL server beside libpq doing the same work on the same tables, alternating in one run:
///
///     swift run -c release server-benchmarks [rows]
@main enum ServerBenchmarks {
  static let rows = CommandLine.arguments.dropFirst().first.flatMap(Int.init) ?? 20_000
  static let rounds = 5

  static func main() throws {
    // Commits are not written to the disk, so that the disk is not measured.
    let server = PostgreSQLServer(["synchronous_commit=off", "shared_buffers=256MB", "autovacuum=off"])
    defer { server.stop() }
    let place = server.url(schema: "app")
    _ = try coordinator(place)
    let plain = PlainServer(server.address())
    let people = "app.\"Person\""
    plain.prepare(
      "insert",
      """
      INSERT INTO \(people) (_key, _entity, age, email, joined, name, score) \
      VALUES ($1::bigint, 1, $2::bigint, $3::text, \
      '2000-01-01Z'::timestamptz + $4::float8 * interval '1 second', $5::text, $6::float8)
      """)
    let columns = "_key, _version, age, email, joined, name, score"
    plain.prepare("all", "SELECT \(columns) FROM \(people)")
    plain.prepare("one", "SELECT \(columns) FROM \(people) WHERE _key = $1::bigint")
    plain.prepare(
      "update",
      """
      UPDATE \(people) SET age = $3::bigint, name = $4::text, _version = _version + 1 \
      WHERE _key = $1::bigint AND _version >= $2::bigint
      """)
    plain.prepare("delete", "DELETE FROM \(people) WHERE _key = $1::bigint AND _version >= $2::bigint")
    var table: [(name: String, ours: [Double], plain: [Double])] = []
    func note(_ name: String, _ ours: Double, _ plain: Double) {
      let index = table.firstIndex { $0.name == name } ?? table.count
      if index == table.count { table.append((name, [], [])) }
      table[index].ours.append(ours)
      table[index].plain.append(plain)
    }
    for _ in 0..<rounds {
      plain.run("TRUNCATE \(people)")
      let values = (0..<rows).map(PersonValues.init)
      let coordinator = try coordinator(place)
      let oursInserted = try measure { try insert(values, context(coordinator)) }
      plain.run("TRUNCATE \(people)")
      note("insert and save", oursInserted, measure { insert(values, plain) })
      plain.run("VACUUM ANALYZE \(people)")
      let fresh = try self.coordinator(place)
      var sums = (0, 0)
      let fetched = try measure { sums.0 = try fetchAll(context(fresh)) }
      note(
        "fetch all and read all", fetched, measure { plain.query("all") { sums.1 &+= PlainServer.readPerson($0, $1) } })
      let keys = (0..<rows / 4).map { Int64(($0 &* 7919) % rows + 1) }
      let other = try self.coordinator(place)
      let found = try measure { sums.0 = try lookUp(keys, context(other)) }
      note(
        "look up by ID", found,
        measure { for key in keys { plain.query("one", key) { sums.1 &+= PlainServer.readPerson($0, $1) } } })
      let third = context(try self.coordinator(place))
      note("update and save", try update(third), measure { update(values, plain) })
      let fourth = context(try self.coordinator(place))
      note("save one row", try saveEach(fourth, 500), measure { saveEach(500, plain) })
      note(
        "delete and save", try delete(context(try self.coordinator(place)), half: rows / 2),
        measure { delete(rows / 2, plain) })
    }
    for row in table {
      let (ours, plain) = (row.ours.sorted()[rounds / 2], row.plain.sorted()[rounds / 2])
      print(
        String(format: "%-24@ %8.1f ms %8.1f ms  %5.2f", row.name as NSString, ours * 1e3, plain * 1e3, ours / plain))
    }
  }

  static func measure(_ body: () throws -> Void) rethrows -> Double {
    let start = DispatchTime.now().uptimeNanoseconds
    try body()
    return Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
  }

  static func coordinator(_ place: URL) throws -> NSPersistentStoreCoordinator {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: PersonModel.model)
    try coordinator.addPersistentStore(ofType: NSPostgreSQLStoreType, configurationName: nil, at: place)
    return coordinator
  }

  static func context(_ coordinator: NSPersistentStoreCoordinator) -> NSManagedObjectContext {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return context
  }

  // MARK: Ours

  static func insert(_ values: [PersonValues], _ context: NSManagedObjectContext) throws {
    try context.performAndWait {
      for value in values {
        let person = NSEntityDescription.insertNewObject(forEntityName: "Person", into: context)
        person.setValue(value.age, forKey: "age")
        person.setValue(value.email, forKey: "email")
        person.setValue(Date(timeIntervalSinceReferenceDate: value.joined), forKey: "joined")
        person.setValue(value.name, forKey: "name")
        person.setValue(value.score, forKey: "score")
      }
      try context.save()
    }
  }

  static func read(_ person: NSManagedObject) -> Int {
    var sum = (person.value(forKey: "name") as? String ?? "").utf8.count
    sum &+= (person.value(forKey: "age") as? NSNumber)?.intValue ?? 0
    sum &+= (person.value(forKey: "score") as? NSNumber)?.intValue ?? 0
    sum &+= (person.value(forKey: "email") as? String ?? "").utf8.count
    return sum &+ Int((person.value(forKey: "joined") as? Date)?.timeIntervalSinceReferenceDate ?? 0)
  }

  static func fetchAll(_ context: NSManagedObjectContext) throws -> Int {
    try context.performAndWait {
      try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Person")).reduce(0) { $0 &+ read($1) }
    }
  }

  static func lookUp(_ keys: [Int64], _ context: NSManagedObjectContext) throws -> Int {
    try context.performAndWait {
      guard let store = context.persistentStoreCoordinator?.persistentStores.first else { return 0 }
      return try keys.reduce(0) { sum, key in
        let uri = "x-coredata://\(store.identifier ?? "")/Person/p\(key)"
        guard let id = context.persistentStoreCoordinator?.objectID(forURI: uri) else { return sum }
        return sum &+ read(try context.existingObject(with: id))
      }
    }
  }

  /// The fetch before is not measured: on the other side the rows are known too.
  static func update(_ context: NSManagedObjectContext) throws -> Double {
    try context.performAndWait {
      let people = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Person"))
      return try measure {
        for person in people {
          person.setValue(((person.value(forKey: "age") as? NSNumber)?.intValue ?? 0) + 1, forKey: "age")
          person.setValue("changed", forKey: "name")
        }
        try context.save()
      }
    }
  }

  static func saveEach(_ context: NSManagedObjectContext, _ count: Int) throws -> Double {
    try context.performAndWait {
      let request = NSFetchRequest<NSManagedObject>(entityName: "Person")
      request.fetchLimit = count
      let people = try context.fetch(request)
      return try measure {
        for person in people {
          person.setValue(((person.value(forKey: "age") as? NSNumber)?.intValue ?? 0) + 1, forKey: "age")
          try context.save()
        }
      }
    }
  }

  static func delete(_ context: NSManagedObjectContext, half: Int) throws -> Double {
    try context.performAndWait {
      let request = NSFetchRequest<NSManagedObject>(entityName: "Person")
      request.fetchLimit = half
      request.sortDescriptors = [NSSortDescriptor(key: "self", ascending: false)]
      let people = try context.fetch(request)
      return try measure {
        for person in people { context.delete(person) }
        try context.save()
      }
    }
  }

  // MARK: libpq

  static func insert(_ values: [PersonValues], _ plain: PlainServer) {
    plain.pipeline("insert", values.count) { index, parameters in
      parameters.add(Int64(index + 1))
      parameters.add(values[index].age)
      parameters.add(values[index].email)
      parameters.add(values[index].joined)
      parameters.add(values[index].name)
      parameters.add(values[index].score)
    }
  }

  /// The rows have the version 2 after our own update.
  static func update(_ values: [PersonValues], _ plain: PlainServer) {
    plain.pipeline("update", values.count) { index, parameters in
      parameters.add(Int64(index + 1))
      parameters.add(Int64(2))
      parameters.add(values[index].age + 1)
      parameters.add("changed")
    }
  }

  static func saveEach(_ count: Int, _ plain: PlainServer) {
    for index in 0..<count {
      plain.pipeline("update", 1) { _, parameters in
        parameters.add(Int64(index + 1))
        parameters.add(Int64(3))
        parameters.add(Int64(index))
        parameters.add("changed again")
      }
    }
  }

  static func delete(_ count: Int, _ plain: PlainServer) {
    plain.pipeline("delete", count) { index, parameters in
      parameters.add(Int64(index + 1))
      parameters.add(Int64(3))
    }
  }
}

enum PersonModel {
  static let model: NSManagedObjectModel = {
    let person = NSEntityDescription()
    person.name = "Person"
    person.properties = [
      ("age", NSAttributeType.integer64AttributeType), ("email", .stringAttributeType), ("joined", .dateAttributeType),
      ("name", .stringAttributeType), ("score", .doubleAttributeType),
    ].map { name, type in
      let attribute = NSAttributeDescription()
      attribute.name = name
      attribute.attributeType = type
      return attribute
    }
    let model = NSManagedObjectModel()
    model.entities = [person]
    return model
  }()
}

/// The values of row number `index`: the same on both sides.
struct PersonValues {
  let name: String
  let age: Int64
  let score: Double
  let joined: Double
  let email: String

  init(_ index: Int) {
    name = "Person number \(index)"
    age = Int64(index % 90)
    score = Double(index) * 0.5
    joined = 600_000_000.5 + Double(index)
    email = "p\(index)@example.org"
  }
}
