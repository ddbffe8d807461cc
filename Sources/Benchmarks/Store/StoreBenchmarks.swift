import CSQLite
import CoreData
import Foundation
import ObjectIdentity

/// Core Data beside plain SQLite, on a file of people.
enum StoreBenchmarks {
  static var measures: [Measure] {
    [
      Measure(name: "insert") { try [insert($0)] },
      Measure(name: "batch-insert") { try [batchInsert($0)] },
      Measure(name: "fetch-all") { try fetchAll($0) },
      Measure(name: "fetch-predicate") { try [fetchPredicate($0)] },
      Measure(name: "lookup") { try lookup($0) },
      Measure(name: "update") { try [update($0)] },
      Measure(name: "delete") { try [delete($0)] },
      Measure(name: "traverse") { try [traverse($0)] },
    ]
  }

  // MARK: Writing

  private static let insertSQL =
    "INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZAGE, ZJOINED, ZSCORE, ZEMAIL, ZNAME) VALUES (?, 1, 1, ?, ?, ?, ?, ?)"

  /// Inserts rows in one transaction, with keys after the given one.
  static func insertPlain(_ sqlite: PlainSQLite, _ values: [PersonValues], after key: Int = 0) {
    let statement = sqlite.prepare(insertSQL)
    defer { sqlite3_finalize(statement) }
    sqlite.execute("BEGIN IMMEDIATE")
    for (index, value) in values.enumerated() {
      sqlite3_bind_int64(statement, 1, Int64(key + index + 1))
      sqlite3_bind_int64(statement, 2, value.age)
      sqlite3_bind_double(statement, 3, value.joined)
      sqlite3_bind_double(statement, 4, value.score)
      PlainSQLite.bind(value.email, 5, statement)
      PlainSQLite.bind(value.name, 6, statement)
      guard sqlite3_step(statement) == SQLITE_DONE else { fatalError("insert failed") }
      sqlite3_reset(statement)
    }
    sqlite.execute("COMMIT")
  }

  private static func insert(_ options: Options) throws -> Figure {
    let values = (0..<options.rows).map(PersonValues.init)
    return try compare("insert and save", options) {
      let stack = try Stack()
      let context = stack.context()
      return try context.performAndWait {
        try Use.of {
          for value in values {
            Person(context: context).take(value)
          }
          try context.save()
        }
      }
    } plain: {
      let stack = try Stack()
      let sqlite = PlainSQLite(stack.path)
      return Use.of { insertPlain(sqlite, values) }
    }
  }

  /// Inserts from dictionaries that exist already, as a JSON parser leaves them.
  private static func batchInsert(_ options: Options) throws -> Figure {
    let values = (0..<options.rows).map(PersonValues.init)
    let dictionaries = values.map { value -> [String: Any] in
      [
        "name": value.name, "age": value.age, "score": value.score,
        "joined": Date(timeIntervalSinceReferenceDate: value.joined), "email": value.email,
      ]
    }
    return try compare("batch insert request", options) {
      let stack = try Stack()
      let context = stack.context()
      return try context.performAndWait {
        try Use.of { _ = try context.execute(NSBatchInsertRequest(entityName: "Person", objects: dictionaries)) }
      }
    } plain: {
      let stack = try Stack()
      let sqlite = PlainSQLite(stack.path)
      return Use.of { insertPlain(sqlite, values) }
    }
  }

  private static func update(_ options: Options) throws -> Figure {
    let stack = try FilledStore(rows: options.rows).copy()
    return try compare("fetch all, change one attribute, save", options) {
      let context = stack.context()
      return try context.performAndWait {
        try Use.of {
          for person in try context.fetch(NSFetchRequest<Person>(entityName: "Person")) { person.age += 1 }
          try context.save()
        }
      }
    } plain: {
      let sqlite = PlainSQLite(stack.path)
      return Use.of {
        let select = sqlite.prepare("SELECT Z_PK, Z_OPT, ZNAME, ZAGE, ZSCORE, ZJOINED, ZEMAIL FROM ZPERSON")
        let update = sqlite.prepare("UPDATE ZPERSON SET Z_OPT = ?, ZAGE = ? WHERE Z_PK = ? AND Z_OPT = ?")
        defer {
          sqlite3_finalize(select)
          sqlite3_finalize(update)
        }
        var rows: [(key: Int64, version: Int64, age: Int64)] = []
        var sum = 0
        while sqlite3_step(select) == SQLITE_ROW {
          sum &+= PlainSQLite.readPerson(select, from: 2)
          rows.append(
            (sqlite3_column_int64(select, 0), sqlite3_column_int64(select, 1), sqlite3_column_int64(select, 3)))
        }
        consume(sum)
        sqlite.execute("BEGIN IMMEDIATE")
        for row in rows {
          sqlite3_bind_int64(update, 1, row.version + 1)
          sqlite3_bind_int64(update, 2, row.age + 1)
          sqlite3_bind_int64(update, 3, row.key)
          sqlite3_bind_int64(update, 4, row.version)
          guard sqlite3_step(update) == SQLITE_DONE else { fatalError("update failed") }
          sqlite3_reset(update)
        }
        sqlite.execute("COMMIT")
      }
    }
  }

  private static func delete(_ options: Options) throws -> Figure {
    let filled = try FilledStore(rows: options.rows)
    return try compare("fetch all, delete, save", options) {
      let stack = try filled.copy()
      let context = stack.context()
      return try context.performAndWait {
        try Use.of {
          for person in try context.fetch(NSFetchRequest<Person>(entityName: "Person")) { context.delete(person) }
          try context.save()
        }
      }
    } plain: {
      let stack = try filled.copy()
      let sqlite = PlainSQLite(stack.path)
      return Use.of {
        let select = sqlite.prepare("SELECT Z_PK, Z_OPT FROM ZPERSON")
        let delete = sqlite.prepare("DELETE FROM ZPERSON WHERE Z_PK = ? AND Z_OPT = ?")
        defer {
          sqlite3_finalize(select)
          sqlite3_finalize(delete)
        }
        var rows: [(key: Int64, version: Int64)] = []
        while sqlite3_step(select) == SQLITE_ROW {
          rows.append((sqlite3_column_int64(select, 0), sqlite3_column_int64(select, 1)))
        }
        sqlite.execute("BEGIN IMMEDIATE")
        for row in rows {
          sqlite3_bind_int64(delete, 1, row.key)
          sqlite3_bind_int64(delete, 2, row.version)
          guard sqlite3_step(delete) == SQLITE_DONE else { fatalError("delete failed") }
          sqlite3_reset(delete)
        }
        sqlite.execute("COMMIT")
      }
    }
  }

  // MARK: Reading

  private static let columns = "ZNAME, ZAGE, ZSCORE, ZJOINED, ZEMAIL"

  private static func selectPlain(_ sqlite: PlainSQLite, _ sql: String) -> Use {
    Use.of {
      let statement = sqlite.prepare(sql)
      defer { sqlite3_finalize(statement) }
      var sum = 0
      while sqlite3_step(statement) == SQLITE_ROW { sum &+= PlainSQLite.readPerson(statement, from: 0) }
      consume(sum)
    }
  }

  private static func fetchAll(_ options: Options) throws -> [Figure] {
    let stack = try FilledStore(rows: options.rows).copy()
    let sqlite = PlainSQLite(stack.path)
    let plain = { selectPlain(sqlite, "SELECT \(columns) FROM ZPERSON") }
    func ours(_ read: (Person) -> Int) throws -> Use {
      // A new coordinator, so that no row is in its cache.
      let context = try stack.another().context()
      return try context.performAndWait {
        try Use.of {
          var sum = 0
          for person in try context.fetch(NSFetchRequest<Person>(entityName: "Person")) { sum &+= read(person) }
          consume(sum)
        }
      }
    }
    return [
      try compare("fetch all, read every property", options, ours: { try ours { $0.readAll() } }, plain: plain),
      try compare("fetch all, read every property by value(forKey:)", options) {
        try ours { person in
          var sum = (person.value(forKey: "name") as? String)?.utf8.count ?? 0
          sum &+= (person.value(forKey: "age") as? NSNumber)?.intValue ?? 0
          sum &+= (person.value(forKey: "score") as? NSNumber)?.intValue ?? 0
          sum &+= Int((person.value(forKey: "joined") as? Date)?.timeIntervalSinceReferenceDate ?? 0)
          return sum &+ ((person.value(forKey: "email") as? String)?.utf8.count ?? 0)
        }
      } plain: {
        plain()
      },
    ]
  }

  private static func fetchPredicate(_ options: Options) throws -> Figure {
    let stack = try FilledStore(rows: options.rows).copy()
    let sqlite = PlainSQLite(stack.path)
    return try compare("fetch with predicate and sort, read all", options) {
      let context = try stack.another().context()
      return try context.performAndWait {
        try Use.of {
          let request = NSFetchRequest<Person>(entityName: "Person")
          request.predicate = NSPredicate(format: "age >= 30 AND age < 45 AND score > %@", NSNumber(value: 100))
          request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
          var sum = 0
          for person in try context.fetch(request) { sum &+= person.readAll() }
          consume(sum)
        }
      }
    } plain: {
      selectPlain(
        sqlite, "SELECT \(columns) FROM ZPERSON WHERE ZAGE >= 30 AND ZAGE < 45 AND ZSCORE > 100 ORDER BY ZNAME")
    }
  }

  private static func lookup(_ options: Options) throws -> [Figure] {
    let stack = try FilledStore(rows: options.rows).copy()
    let sqlite = PlainSQLite(stack.path)
    // The keys are far apart, so that neither side profits from the previous row's page.
    let keys = (0..<options.rows).map { Int64(($0 &* 7919) % options.rows + 1) }
    func plain() -> Use {
      Use.of {
        let statement = sqlite.prepare("SELECT \(columns) FROM ZPERSON WHERE Z_PK = ?")
        defer { sqlite3_finalize(statement) }
        var sum = 0
        for key in keys {
          sqlite3_bind_int64(statement, 1, key)
          if sqlite3_step(statement) == SQLITE_ROW { sum &+= PlainSQLite.readPerson(statement, from: 0) }
          sqlite3_reset(statement)
        }
        consume(sum)
      }
    }
    func ours(_ stack: Stack) throws -> Use {
      let context = stack.context()
      let store = stack.coordinator.persistentStores[0].identifier ?? ""
      let ids = keys.compactMap {
        stack.coordinator.objectID(for: ObjectURI(store: store, entity: "Person", key: Int64($0)))
      }
      return try context.performAndWait {
        try Use.of {
          var sum = 0
          for id in ids { sum &+= (try context.existingObject(with: id) as? Person)?.readAll() ?? 0 }
          consume(sum)
        }
      }
    }
    return [
      try compare(
        "look up by object ID, from the file", options, ours: { try ours(try stack.another()) }, plain: plain),
      try compare("look up by object ID, first read just before", options) {
        let warm = try stack.another()
        _ = try ours(warm)
        return try ours(warm)
      } plain: {
        plain()
      },
    ]
  }

  private static func traverse(_ options: Options) throws -> Figure {
    let stack = try FilledStore(rows: options.rows, teams: 1000).copy()
    let sqlite = PlainSQLite(stack.path)
    return try compare("fetch all, follow a to-one, read there", options) {
      let context = try stack.another().context()
      return try context.performAndWait {
        try Use.of {
          var sum = 0
          for person in try context.fetch(NSFetchRequest<Person>(entityName: "Person")) {
            sum &+= person.team?.name?.utf8.count ?? 0
          }
          consume(sum)
        }
      }
    } plain: {
      Use.of {
        let people = sqlite.prepare("SELECT ZTEAM, \(columns) FROM ZPERSON")
        let team = sqlite.prepare("SELECT ZNAME FROM ZTEAM WHERE Z_PK = ?")
        defer {
          sqlite3_finalize(people)
          sqlite3_finalize(team)
        }
        var sum = 0
        while sqlite3_step(people) == SQLITE_ROW {
          sqlite3_bind_int64(team, 1, sqlite3_column_int64(people, 0))
          if sqlite3_step(team) == SQLITE_ROW { sum &+= Int(sqlite3_column_bytes(team, 0)) }
          sqlite3_reset(team)
        }
        consume(sum)
      }
    }
  }
}

/// Keeps the compiler from removing work whose result is unused.
@inline(never)
func consume(_ value: Int) {
  if value == Int.min { print("") }
}
