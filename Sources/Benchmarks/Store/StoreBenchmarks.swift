import BenchmarkRows
import CSQLite
import CoreData
import Foundation

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
      Measure(name: "single-saves") { try singleSaves($0) },
      Measure(name: "traverse") { try [traverse($0)] },
    ]
  }

  static let insertSQL =
    "INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZAGE, ZJOINED, ZSCORE, ZEMAIL, ZNAME) VALUES (?, 1, 1, ?, ?, ?, ?, ?)"

  /// Inserts rows in one transaction, with keys after the given one.
  static func insertPlain(_ sqlite: PlainSQLite, _ values: [PersonValues], after key: Int = 0) {
    let statement = sqlite.prepare(insertSQL)
    defer { sqlite3_finalize(statement) }
    sqlite.execute("BEGIN IMMEDIATE")
    for (index, value) in values.enumerated() {
      bind(value, key: Int64(key + index + 1), to: statement)
      guard sqlite3_step(statement) == SQLITE_DONE else { fatalError("insert failed") }
      sqlite3_reset(statement)
    }
    sqlite.execute("COMMIT")
  }

  /// Binds the parameters of ``insertSQL``.
  @inline(__always)
  static func bind(_ value: PersonValues, key: Int64, to statement: OpaquePointer) {
    sqlite3_bind_int64(statement, 1, key)
    sqlite3_bind_int64(statement, 2, value.age)
    sqlite3_bind_double(statement, 3, value.joined)
    sqlite3_bind_double(statement, 4, value.score)
    PlainSQLite.bind(value.email, 5, statement)
    PlainSQLite.bind(value.name, 6, statement)
  }

  private static func insert(_ options: Options) throws -> Figure {
    let values = (0..<options.rows).map(PersonValues.init)
    return try compareInserting("insert and save", options, values, savesEach: false) { insertPlain($0, values) }
  }

  /// Inserts people into new stores.
  ///
  /// - Parameters:
  ///   - savesEach: whether each object is saved by itself, and not all together.
  ///   - plain: the same in C.
  static func compareInserting(
    _ title: String, _ options: Options, _ values: [PersonValues], savesEach: Bool, plain: (PlainSQLite) -> Void
  ) throws -> Figure {
    try compare(title, options, rows: values.count) {
      let stack = try Stack()
      let context = stack.context()
      return try context.performAndWait {
        try Use.of {
          for value in values {
            Person(context: context).take(value)
            if savesEach { try context.save() }
          }
          if !savesEach { try context.save() }
        }
      }
    } plain: {
      let stack = try Stack()
      let sqlite = PlainSQLite(stack.path)
      return Use.of { plain(sqlite) }
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
}

/// Keeps the compiler from removing work whose result is unused.
@inline(never)
func consume(_ value: Int) {
  if value == Int.min { print("") }
}
