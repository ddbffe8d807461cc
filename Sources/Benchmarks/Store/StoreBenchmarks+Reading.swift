import CSQLite
import CoreData
import Foundation
import ObjectIdentity

/// Fetches, look-ups and relationships.
extension StoreBenchmarks {
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

  static func fetchAll(_ options: Options) throws -> [Figure] {
    let stack = try FilledStore(rows: options.rows).copy()
    let sqlite = PlainSQLite(stack.path)
    let plain = { selectPlain(sqlite, "SELECT \(columns) FROM ZPERSON") }
    let steps = Side(suffix: "", comparedWith: "plain C", run: plain)
    let objects = Side(suffix: ", beside objects in C", comparedWith: "C's objects") {
      let objects = PlainObjects()
      return withExtendedLifetime(objects) { Use.of { consume(objects.fetchAndRead(sqlite)) } }
    }
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
    func onUsedHeap(_ body: () throws -> Use) rethrows -> Use {
      let heap = UsedHeap(blocks: options.rows * 8)
      return try withExtendedLifetime(heap) { try body() }
    }
    let fresh = try compare(
      "fetch all, read every property", options, ours: { try ours { $0.readAll() } }, sides: [steps, objects])
    let used = try compare(
      "fetch all, read every property, on a used heap", options,
      ours: { try onUsedHeap { try ours { $0.readAll() } } },
      sides: [
        steps, Side(suffix: objects.suffix, comparedWith: objects.comparedWith) { try onUsedHeap(objects.run) },
      ])
    let byKey = try compare("fetch all, read every property by value(forKey:)", options) {
      try ours { person in
        var sum = (person.value(forKey: "name") as? String)?.utf8.count ?? 0
        sum &+= (person.value(forKey: "age") as? NSNumber)?.intValue ?? 0
        sum &+= (person.value(forKey: "score") as? NSNumber)?.intValue ?? 0
        sum &+= Int((person.value(forKey: "joined") as? Date)?.timeIntervalSinceReferenceDate ?? 0)
        return sum &+ ((person.value(forKey: "email") as? String)?.utf8.count ?? 0)
      }
    } plain: {
      plain()
    }
    return fresh + [byKey] + used
  }

  static func fetchPredicate(_ options: Options) throws -> Figure {
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

  static func lookup(_ options: Options) throws -> [Figure] {
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

  static func traverse(_ options: Options) throws -> Figure {
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
