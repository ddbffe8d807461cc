import Foundation
import GRDB

// The work of rows.py by GRDB: `grdb-peer ROWS FOLDER` prints the same JSON object as the scripts in Python.
//
// peers.py makes a package of this file and a checkout of GRDB.

let teams = 1000
let mostCommits = 5000

struct Team: Encodable, FetchableRecord, PersistableRecord {
  static let databaseTableName = "team"
  var id: Int64
  var name: String

  init(id: Int64, name: String) {
    self.id = id
    self.name = name
  }

  init(row: Row) {
    id = row[0]
    name = row[1]
  }
}

/// A record as GRDB's README defines one for fast fetches: columns by their positions.
struct Person: Encodable, FetchableRecord, PersistableRecord {
  static let databaseTableName = "person"
  static let team = belongsTo(Team.self)

  enum Columns {
    static let age = Column("age")
    static let name = Column("name")
    static let score = Column("score")
  }

  static var databaseSelection: [any SQLSelectable] {
    ["id", "age", "email", "joined", "name", "score", "team_id"].map { Column($0) }
  }

  var id: Int64
  var age: Int64
  var email: String
  var joined: Date
  var name: String
  var score: Double
  var team_id: Int64?

  init(_ index: Int, teams: Int = 0) {
    id = Int64(index + 1)
    age = Int64(index % 90)
    email = "p\(index)@example.org"
    joined = Date(timeIntervalSinceReferenceDate: 600_000_000.5 + Double(index))
    name = "Person number \(index)"
    score = Double(index) * 0.5
    team_id = teams > 0 ? Int64(index % teams + 1) : nil
  }

  init(row: Row) {
    id = row[0]
    age = row[1]
    email = row[2]
    joined = row[3]
    name = row[4]
    score = row[5]
    team_id = row[6]
  }

  func encode(to container: inout PersistenceContainer) {
    container["id"] = id
    container["age"] = age
    container["email"] = email
    container["joined"] = joined
    container["name"] = name
    container["score"] = score
    container["team_id"] = team_id
  }

  /// Reads all five properties.
  func read() -> Int {
    name.utf8.count + Int(age) + Int(score) + Int(joined.timeIntervalSinceReferenceDate) + email.utf8.count
  }
}

struct PersonWithTeam: FetchableRecord {
  let person: Person
  let team: Team

  init(row: Row) {
    person = Person(row: row)
    team = row["team"]
  }
}

/// One round: the seconds of each piece of work, and a number that shows that the work was done.
final class Round {
  let rows: Int
  let folder: String
  var pool: DatabasePool?
  var seconds: [String: Double] = [:]
  var sums: [String: Any] = [:]

  init(rows: Int, folder: String) {
    self.rows = rows
    self.folder = folder
  }

  func create(_ name: String) throws -> DatabasePool {
    try pool?.close()
    // In WAL mode with `synchronous = NORMAL`, as each DatabasePool.
    let new = try DatabasePool(path: "\(folder)/\(rows)-\(name).sqlite")
    try new.write { db in
      try db.create(table: "team") { table in
        table.primaryKey("id", .integer)
        table.column("name", .text).notNull()
      }
      try db.create(table: "person") { table in
        table.primaryKey("id", .integer)
        table.column("age", .integer).notNull()
        table.column("email", .text).notNull()
        table.column("joined", .datetime).notNull()
        table.column("name", .text).notNull()
        table.column("score", .double).notNull()
        table.column("team_id", .integer).indexed().references("team")
      }
    }
    pool = new
    return new
  }

  func take(_ name: String, _ body: () throws -> Int?) throws {
    let clock = ContinuousClock()
    let start = clock.now
    let sum = try body()
    seconds[name] = (clock.now - start) / .seconds(1)
    sums[name] = try sum ?? content()
  }

  /// The file's content in short.
  func content() throws -> [Double] {
    let sql = "SELECT COUNT(*), TOTAL(age + length(name) + length(email)), TOTAL(score) FROM person"
    let row = try pool?.read { db in try Row.fetchOne(db, sql: sql) }
    return row.map { row in [row[0], row[1], row[2]] } ?? []
  }

  func run() throws {
    let people = (0..<rows).map { Person($0) }
    var pool = try create("insert")
    try take("insert") {
      try pool.write { db in for person in people { try person.insert(db) } }
      return nil
    }
    pool = try create("batch")
    try take("batch") {
      try Self.insertBatch(people, pool)
      return nil
    }
    try read(pool)
    try change(pool)
    pool = try create("teams")
    try pool.write { db in for index in 0..<teams { try Team(id: Int64(index + 1), name: "Team \(index)").insert(db) } }
    try Self.insertBatch((0..<rows).map { Person($0, teams: teams) }, pool)
    try take("follow") {
      try pool.read { db in
        var sum = 0
        let people = try Person.including(required: Person.team).asRequest(of: PersonWithTeam.self).fetchCursor(db)
        while let found = try people.next() { sum += found.team.name.utf8.count }
        return sum
      }
    }
  }

  /// One prepared statement without checks of its arguments, as in GRDB's own measurements.
  private static func insertBatch(_ people: [Person], _ pool: DatabasePool) throws {
    try pool.write { db in
      let statement = try db.makeStatement(
        sql: "INSERT INTO person (id, age, email, joined, name, score, team_id) VALUES (?, ?, ?, ?, ?, ?, ?)")
      for one in people {
        statement.setUncheckedArguments([one.id, one.age, one.email, one.joined, one.name, one.score, one.team_id])
        try statement.execute()
      }
    }
  }

  private func read(_ pool: DatabasePool) throws {
    func sum(_ people: RecordCursor<Person>) throws -> Int {
      var sum = 0
      while let found = try people.next() { sum += found.read() }
      return sum
    }
    try take("fetch") { try pool.read { db in try sum(Person.fetchCursor(db)) } }
    try take("byName") {
      try pool.read { db in
        var sum = 0
        let rows = try Row.fetchCursor(db, sql: "SELECT name, age, score, joined, email FROM person")
        while let row = try rows.next() {
          let (name, email) = (row["name"] as String, row["email"] as String)
          let (age, score, joined) = (row["age"] as Int, row["score"] as Double, row["joined"] as Date)
          sum += name.utf8.count + age + Int(score) + Int(joined.timeIntervalSinceReferenceDate) + email.utf8.count
        }
        return sum
      }
    }
    try take("filter") {
      try pool.read { db in
        let columns = Person.Columns.self
        return try sum(
          Person.filter(columns.age >= 30 && columns.age < 45 && columns.score > 100).order(columns.name)
            .fetchCursor(db))
      }
    }
    let keys = (0..<rows).map { Int64($0 * 7919 % rows + 1) }
    try take("lookup") {
      try pool.read { db in try keys.reduce(0) { sum, key in try sum + Person.find(db, key: key).read() } }
    }
  }

  private func change(_ pool: DatabasePool) throws {
    try take("update") {
      try pool.write { db in
        for var found in try Person.fetchAll(db) { try found.updateChanges(db) { $0.age += 1 } }
      }
      return nil
    }
    try take("single") {
      let people = try pool.read { db in try Person.limit(min(rows, mostCommits)).fetchAll(db) }
      for var found in people { _ = try pool.write { db in try found.updateChanges(db) { $0.age += 1 } } }
      return nil
    }
    try take("delete") {
      try pool.write { db in
        let people = try Person.fetchAll(db)
        try Person.deleteAll(db, keys: people.map(\.id))
      }
      return nil
    }
  }
}

let rows = Int(CommandLine.arguments[1]) ?? 0
let folder = CommandLine.arguments[2]
// The first use of each statement makes what later ones share.
try Round(rows: min(rows, 100), folder: folder).run()
let measured = Round(rows: rows, folder: folder)
try measured.run()
let sqlite = try DatabaseQueue().read { db in try String.fetchOne(db, sql: "SELECT sqlite_version()") ?? "" }
let document: [String: Any] = ["sqlite": sqlite, "seconds": measured.seconds, "sums": measured.sums]
print(String(decoding: try JSONSerialization.data(withJSONObject: document), as: UTF8.self))
