import BenchmarkRows
import CSQLite
import CoreData

/// Saves of one object each, beside C with as many commits.
extension StoreBenchmarks {
  /// The number of commits of a round, at most.
  private static let mostCommits = 5_000

  static func singleSaves(_ options: Options) throws -> [Figure] {
    let count = min(options.rows, mostCommits)
    let filled = try FilledStore(rows: options.rows)
    let stack = try filled.copy()
    return [
      try insertEach(options, (0..<count).map(PersonValues.init)),
      try changeEach(options, stack, count),
      try deleteEach(options, filled, count),
    ]
  }

  private static func insertEach(_ options: Options, _ values: [PersonValues]) throws -> Figure {
    let title = "insert one object, save: one commit each"
    return try compareInserting(title, options, values, savesEach: true) { sqlite in
      let insert = sqlite.prepare(insertSQL)
      defer { sqlite3_finalize(insert) }
      for (index, value) in values.enumerated() {
        bind(value, key: Int64(index + 1), to: insert)
        sqlite.commit(insert)
      }
    }
  }

  private static func changeEach(_ options: Options, _ stack: Stack, _ count: Int) throws -> Figure {
    try compare("change one object, save: one commit each", options, rows: count) {
      let context = stack.context()
      return try context.performAndWait {
        let people = try people(context, count)
        return try Use.of {
          for person in people {
            person.age += 1
            try context.save()
          }
        }
      }
    } plain: {
      let sqlite = PlainSQLite(stack.path)
      let rows = readRows(sqlite, count)
      let update = sqlite.prepare("UPDATE ZPERSON SET Z_OPT = ?, ZAGE = ? WHERE Z_PK = ? AND Z_OPT = ?")
      defer { sqlite3_finalize(update) }
      return Use.of {
        for row in rows {
          sqlite3_bind_int64(update, 1, row.version + 1)
          sqlite3_bind_int64(update, 2, row.age + 1)
          sqlite3_bind_int64(update, 3, row.key)
          sqlite3_bind_int64(update, 4, row.version)
          sqlite.commit(update)
        }
      }
    }
  }

  private static func deleteEach(_ options: Options, _ filled: FilledStore, _ count: Int) throws -> Figure {
    try compare("delete one object, save: one commit each", options, rows: count) {
      let stack = try filled.copy()
      let context = stack.context()
      return try context.performAndWait {
        let people = try people(context, count)
        return try Use.of {
          for person in people {
            context.delete(person)
            try context.save()
          }
        }
      }
    } plain: {
      let stack = try filled.copy()
      let sqlite = PlainSQLite(stack.path)
      let rows = readRows(sqlite, count)
      let delete = sqlite.prepare("DELETE FROM ZPERSON WHERE Z_PK = ? AND Z_OPT = ?")
      defer { sqlite3_finalize(delete) }
      return Use.of {
        for row in rows {
          sqlite3_bind_int64(delete, 1, row.key)
          sqlite3_bind_int64(delete, 2, row.version)
          sqlite.commit(delete)
        }
      }
    }
  }

  /// The first people, with their values.
  private static func people(_ context: NSManagedObjectContext, _ count: Int) throws -> [Person] {
    let request = NSFetchRequest<Person>(entityName: "Person")
    request.fetchLimit = count
    return try context.fetch(request)
  }

  private static func readRows(_ sqlite: PlainSQLite, _ count: Int) -> [(key: Int64, version: Int64, age: Int64)] {
    let select = sqlite.prepare("SELECT Z_PK, Z_OPT, ZAGE FROM ZPERSON LIMIT \(count)")
    defer { sqlite3_finalize(select) }
    var rows: [(key: Int64, version: Int64, age: Int64)] = []
    while sqlite3_step(select) == SQLITE_ROW {
      rows.append((sqlite3_column_int64(select, 0), sqlite3_column_int64(select, 1), sqlite3_column_int64(select, 2)))
    }
    return rows
  }
}

extension PlainSQLite {
  /// Runs a statement that changes one row, in a transaction of its own.
  fileprivate func commit(_ statement: OpaquePointer) {
    execute("BEGIN IMMEDIATE")
    guard sqlite3_step(statement) == SQLITE_DONE, sqlite3_changes(handle) == 1 else { fatalError("no row changed") }
    sqlite3_reset(statement)
    execute("COMMIT")
  }
}
