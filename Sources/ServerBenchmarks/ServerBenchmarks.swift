import BenchmarkRows
import CoreDataPostgreSQL
import Foundation
import Glibc
import PostgreSQLServers

/// Core Data on a PostgreSQL server beside libpq doing the same work on the same tables, alternating in one run:
///
///     swift run -c release server-benchmarks [rows [python]]
///
/// With a Python that has them (`pip install sqlalchemy 'psycopg[binary]'`), SQLAlchemy's ORM does the same afterwards.
@main enum ServerBenchmarks {
  static let rows = CommandLine.arguments.dropFirst().first.flatMap(Int.init) ?? 20_000
  static let python = CommandLine.arguments.dropFirst(2).first
  static let rounds = 7

  static func main() throws {
    // Commits are not written to the disk, so that the disk is not measured.
    let server = PostgreSQLServer(["synchronous_commit=off", "shared_buffers=256MB", "autovacuum=off"])
    defer { server.stop() }
    let place = server.url(schema: "app")
    _ = try coordinator(place)
    let plain = PlainServer(server.address())
    prepare(plain)
    var table: [Row] = []
    for _ in 0..<rounds {
      for (name, ours, other) in try round(place, plain) {
        let index = table.firstIndex { $0.name == name } ?? table.count
        if index == table.count { table.append((name, [], [])) }
        table[index].ours.append(ours)
        table[index].plain.append(other)
      }
    }
    show(table, try python.map { try sqlAlchemy($0, server) } ?? [:])
  }

  private typealias Row = (name: String, ours: [Effort], plain: [Effort])

  private static let people = "app.\"Person\""

  private static func prepare(_ plain: PlainServer) {
    plain.prepare(
      "insert",
      """
      INSERT INTO \(people) (_key, _entity, age, email, joined, name, score) \
      VALUES ($1::bigint, 1, $2::bigint, $3::text, \
      '2000-01-01Z'::timestamptz + $4::float8 * interval '1 second', $5::text, $6::float8)
      """)
    let columns = "_key, _version, age, email, joined, name, score, team"
    plain.prepare("all", "SELECT \(columns) FROM \(people)")
    plain.prepare("alike", "SELECT \(columns) FROM \(people) WHERE name ILIKE '%NUMBER 77%'")
    plain.prepare("one", "SELECT \(columns) FROM \(people) WHERE _key = $1::bigint")
    plain.prepare(
      "update",
      """
      UPDATE \(people) SET age = $3::bigint, name = $4::text, _version = _version + 1 \
      WHERE _key = $1::bigint AND _version >= $2::bigint
      """)
    plain.prepare("delete", "DELETE FROM \(people) WHERE _key = $1::bigint AND _version >= $2::bigint")
  }

  /// Does each piece of work once on both sides.
  private static func round(
    _ place: URL, _ plain: PlainServer
  ) throws -> [(name: String, ours: Effort, plain: Effort)] {
    var efforts: [(name: String, ours: Effort, plain: Effort)] = []
    func note(_ name: String, _ ours: Effort, _ plain: Effort) { efforts.append((name, ours, plain)) }
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
    let alike = measure { plain.query("alike") { sums.1 &+= PlainServer.readPerson($0, $1) } }
    let searching = context(try self.coordinator(place))
    note("name CONTAINS[cd]", try measure { sums.0 = try search(searching) }, alike)
    // As it is without the store's functions: filtered in this process.
    plain.run("DROP FUNCTION app._fold(text) CASCADE")
    let filtering = context(try self.coordinator(place, isReadOnly: true))
    note("the same in memory", try measure { sums.0 = try search(filtering) }, alike)
    let keys = (0..<rows / 4).map { Int64(($0 &* 7919) % rows + 1) }
    let other = try self.coordinator(place)
    let lookUps = try measure { sums.0 = try lookUp(keys, context(other)) }
    note(
      "look up by ID", lookUps,
      measure { for key in keys { plain.query("one", key) { sums.1 &+= PlainServer.readPerson($0, $1) } } })
    let third = context(try self.coordinator(place))
    note("update and save", try update(third), measure { update(values, plain) })
    let fourth = context(try self.coordinator(place))
    note("save one row", try saveEach(fourth, 500), measure { saveEach(500, plain) })
    note(
      "delete and save", try delete(context(try self.coordinator(place)), half: rows / 2),
      measure { delete(rows / 2, plain) })
    return efforts
  }

  /// - Parameter others: the least seconds and processor seconds of SQLAlchemy, by the name of the work.
  private static func show(_ table: [Row], _ others: [String: [Double]]) {
    print(
      "\(rows) rows, the least of \(rounds) rounds: milliseconds; processor time of this process, without the server")
    print(
      "                            ours        C  ratio       ours        C  ratio  SQLAlchemy and its processor time")
    for row in table {
      let (time, processor) = (least(row, \.time), least(row, \.processor))
      let name = row.name.padding(toLength: 24, withPad: " ", startingAt: 0)
      let other = others[row.name].map { String(format: "%10.1f %10.1f", $0[0] * 1e3, $0[1] * 1e3) } ?? ""
      print("\(name) \(time)  \(processor)  \(other)")
    }
  }

  /// New sessions land on busy processors by chance, which only adds: the least is nearest to the work itself.
  private static func least(
    _ row: Row, _ value: (Effort) -> Double
  ) -> String {
    let (ours, plain) = (row.ours.map(value).min() ?? 0, row.plain.map(value).min() ?? 0)
    return String(format: "%8.1f %8.1f %6.2f", ours * 1e3, plain * 1e3, ours / plain)
  }

  /// What the script beside this file measures: time and processor time in seconds, by the name of the work.
  private static func sqlAlchemy(_ python: String, _ server: PostgreSQLServer) throws -> [String: [Double]] {
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
      "sqlalchemy_rows.py")
    let process = Process()
    process.executableURL = URL(fileURLWithPath: python)
    process.arguments = [script.path, server.address(), "\(rows)", "\(rounds / 2)"]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return try JSONDecoder().decode([String: [Double]].self, from: data)
  }

  /// What a piece of work took, in seconds.
  struct Effort {
    let time: Double
    /// The processor time of this process: the server has its own.
    let processor: Double
  }

  static func measure(_ body: () throws -> Void) rethrows -> Effort {
    let (start, processor) = (seconds(CLOCK_MONOTONIC), seconds(CLOCK_PROCESS_CPUTIME_ID))
    try body()
    return Effort(time: seconds(CLOCK_MONOTONIC) - start, processor: seconds(CLOCK_PROCESS_CPUTIME_ID) - processor)
  }

  private static func seconds(_ clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  static func coordinator(_ place: URL, isReadOnly: Bool = false) throws -> NSPersistentStoreCoordinator {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: PersonModel.make())
    try coordinator.addPersistentStore(
      ofType: NSPostgreSQLStoreType, configurationName: nil, at: place,
      options: [NSReadOnlyPersistentStoreOption: isReadOnly])
    return coordinator
  }

  private static func search(_ context: NSManagedObjectContext) throws -> Int {
    try context.performAndWait {
      let request = NSFetchRequest<Person>(entityName: "Person")
      request.predicate = NSPredicate(format: "name CONTAINS[cd] 'NUMBER 77'")
      return try context.fetch(request).reduce(0) { $0 &+ $1.readAll() }
    }
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
        Person(context: context).take(value)
      }
      try context.save()
    }
  }

  static func fetchAll(_ context: NSManagedObjectContext) throws -> Int {
    try context.performAndWait {
      try context.fetch(NSFetchRequest<Person>(entityName: "Person")).reduce(0) { $0 &+ $1.readAll() }
    }
  }

  static func lookUp(_ keys: [Int64], _ context: NSManagedObjectContext) throws -> Int {
    try context.performAndWait {
      guard let store = context.persistentStoreCoordinator?.persistentStores.first else { return 0 }
      return try keys.reduce(0) { sum, key in
        let uri = "x-coredata://\(store.identifier ?? "")/Person/p\(key)"
        guard let id = context.persistentStoreCoordinator?.objectID(forURI: uri) else { return sum }
        return sum &+ ((try context.existingObject(with: id) as? Person)?.readAll() ?? 0)
      }
    }
  }

  /// The fetch before is not measured: on the other side the rows are known too.
  static func update(_ context: NSManagedObjectContext) throws -> Effort {
    try context.performAndWait {
      let people = try context.fetch(NSFetchRequest<Person>(entityName: "Person"))
      return try measure {
        for person in people {
          person.age += 1
          person.name = "changed"
        }
        try context.save()
      }
    }
  }

  static func saveEach(_ context: NSManagedObjectContext, _ count: Int) throws -> Effort {
    try context.performAndWait {
      let request = NSFetchRequest<Person>(entityName: "Person")
      request.fetchLimit = count
      let people = try context.fetch(request)
      return try measure {
        for person in people {
          person.age += 1
          try context.save()
        }
      }
    }
  }

  static func delete(_ context: NSManagedObjectContext, half: Int) throws -> Effort {
    try context.performAndWait {
      let request = NSFetchRequest<Person>(entityName: "Person")
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
