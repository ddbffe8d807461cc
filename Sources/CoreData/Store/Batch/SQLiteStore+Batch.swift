/// The rows that a batch request wrote.
struct BatchResult {
  var count = 0
  /// Where they are asked for.
  var ids: [NSManagedObjectID] = []

  static func += (left: inout BatchResult, right: BatchResult) {
    left.count += right.count
    left.ids += right.ids
  }
}

extension SQLiteStore {
  /// Runs a batch in one transaction, which the store's history takes down. Afterwards no row that was read before counts as known, here or, by the file's version, in
  /// other coordinators.
  func batch<T>(
    _ doing: String, _ origin: ChangeOrigin, _ body: (SQLiteConnection, HistoryRecorder?) throws -> T
  ) throws -> T {
    try CoreDataErrors.translating("\(doing) in \(database.configuration.path)") {
      try database.withWriter { _ in
        let result = try database.write { connection in
          let recorder = HistoryRecorder(self, origin, connection)
          let result = try body(connection, recorder)
          try recorder?.finish()
          return result
        }
        rowCache.removeAll()
        return result
      }
    }
  }

  /// The ID of a row, for a result.
  func objectID(number: Int, key: Int64) -> NSManagedObjectID? {
    guard family.homes.indices.contains(number), let home = family.homes[number] else { return nil }
    return NSManagedObjectID(home: home, key: key)
  }
}
