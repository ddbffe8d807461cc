import BenchmarkRows
import CSQLite
import CoreData
import Foundation

/// A fetched results controller on the main queue that follows a background import, beside the same statements in plain
/// SQLite on the same threads.
enum FetchedResultsBenchmark {
  static var measures: [Measure] { [Measure(name: "fetched-results") { try rows($0) }] }

  private static let columns = "ZNAME, ZAGE, ZSCORE, ZJOINED, ZEMAIL"
  private static let saves = 10

  private static func rows(_ options: Options) throws -> [Figure] {
    let fetch = try performFetch(options)
    let filled = try FilledStore(rows: options.rows)
    var typical = Figure(
      name: "\(options.rows / 10 / saves) new rows saved elsewhere: merged, listed, told", unit: .seconds, ours: [])
    var longest = Figure(
      name: "\(options.rows / 10 / saves) new rows saved elsewhere: longest stall", unit: .seconds, ours: [])
    for _ in 0..<options.rounds {
      let ours = try Import(options.rows, filled.copy()).ours()
      let plain = try Import(options.rows, filled.copy()).plain()
      typical.ours.append(ours.median)
      typical.plain.append(plain.median)
      longest.ours.append(ours.max() ?? .nan)
      longest.plain.append(plain.max() ?? .nan)
    }
    return [fetch, typical, longest]
  }

  private static func controller(_ context: NSManagedObjectContext) -> NSFetchedResultsController<Person> {
    let request = NSFetchRequest<Person>(entityName: "Person")
    request.sortDescriptors = ["age", "name"].map { NSSortDescriptor(key: $0, ascending: true) }
    return NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "age", cacheName: nil)
  }

  private static func performFetch(_ options: Options) throws -> Figure {
    let stack = try FilledStore(rows: options.rows).copy()
    let sqlite = PlainSQLite(stack.path)
    return try compare("fetched results: performFetch in 90 sections", options) {
      let context = try stack.another().context()
      return try context.performAndWait {
        try Use.of {
          let listing = controller(context)
          try listing.performFetch()
          consume(listing.sections?.count ?? 0)
        }
      }
    } plain: {
      Use.of {
        let statement = sqlite.prepare("SELECT \(columns) FROM ZPERSON ORDER BY ZAGE, ZNAME")
        defer { sqlite3_finalize(statement) }
        var sum = 0
        var sections = 0
        var last: Int64?
        while sqlite3_step(statement) == SQLITE_ROW {
          sum &+= PlainSQLite.readPerson(statement, from: 0)
          let age = sqlite3_column_int64(statement, 1)
          if age != last { sections += 1 }
          last = age
        }
        consume(sum &+ sections)
      }
    }
  }

  /// A tenth of the rows is inserted in several saves on another thread, and each save's cost to the main queue is
  /// measured.
  private struct Import {
    let stack: Stack
    let count: Int
    private var portion: Int { count / 10 / saves }

    init(_ count: Int, _ stack: Stack) {
      self.count = count
      self.stack = stack
    }

    private func values(_ save: Int) -> [PersonValues] {
      (0..<portion).map { PersonValues(count + save * portion + $0) }
    }

    func ours() throws -> [Double] {
      let context = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
      context.persistentStoreCoordinator = stack.coordinator
      context.automaticallyMergesChangesFromParent = true
      let listing = controller(context)
      let listener = Listener()
      listing.delegate = listener
      try listing.performFetch()
      let background = stack.context()
      let times = try stalls { save in
        let values = values(save)
        try background.performAndWait {
          for value in values {
            Person(context: background).take(value)
          }
          try background.save()
        }
      }
      guard listener.inserted == portion * saves, listing.fetchedObjects?.count == count + portion * saves else {
        fatalError("\(listener.inserted) of \(portion * saves) rows were told")
      }
      return times
    }

    func plain() throws -> [Double] {
      // `nonisolated(unsafe)`: used by the thread of `stalls` only, and by this one after it has ended.
      nonisolated(unsafe) let writer = PlainSQLite(stack.path)
      let reader = PlainSQLite(stack.path)
      // `nonisolated(unsafe)`: used on the main queue only.
      nonisolated(unsafe) let select = reader.prepare("SELECT \(columns) FROM ZPERSON WHERE Z_PK > ?")
      defer { sqlite3_finalize(select) }
      return try stalls { save in
        let first = count + save * portion
        StoreBenchmarks.insertPlain(writer, values(save), after: first)
        DispatchQueue.main.async {
          var sum = 0
          sqlite3_bind_int64(select, 1, Int64(first))
          while sqlite3_step(select) == SQLITE_ROW { sum &+= PlainSQLite.readPerson(select, from: 0) }
          sqlite3_reset(select)
          consume(sum)
        }
      }
    }

    /// The seconds for which each save keeps the main queue busy.
    private func stalls(_ save: @escaping (Int) throws -> Void) throws -> [Double] {
      // `nonisolated(unsafe)`: the block started here uses `save` while this thread serves the main queue until it has
      // ended; the main queue sets `outcome`, which this thread, the main one, reads.
      nonisolated(unsafe) let save = save
      nonisolated(unsafe) var outcome: Result<[Double], any Error>?
      DispatchQueue.global().async {
        let result = Result {
          try (0..<saves).map { number in
            // The queue is blocked until the save has ended, so that the measured work does not begin inside the save.
            let held = DispatchSemaphore(value: 0)
            DispatchQueue.main.async { held.wait() }
            let saved = Result { try save(number) }
            let time = seconds {
              held.signal()
              DispatchQueue.main.sync {}
            }
            try saved.get()
            return time
          }
        }
        DispatchQueue.main.async { outcome = result }
      }
      while outcome == nil { _ = RunLoop.main.run(mode: .default, before: Date(timeIntervalSinceNow: 0.01)) }
      return try outcome?.get() ?? []
    }
  }

  /// Receives the calls that a list on a screen would receive.
  private final class Listener: NSObject, NSFetchedResultsControllerDelegate {
    var inserted = 0

    func controller(
      _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange anObject: Any,
      at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
    ) {
      if type == .insert, newIndexPath != nil { inserted += 1 }
    }
  }
}
