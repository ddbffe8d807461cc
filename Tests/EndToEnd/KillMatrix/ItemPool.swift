import CoreData
import Foundation
import Testing

@testable import WorkerPool

/// A store of a few items, each with a `value` of 0, and pools with the tests' plugin on it, one after the other.
///
/// Jobs add 1 to their item: what is lost or done twice shows.
final class ItemPool {
  let place: TestPlace
  let store: String
  let model: String
  let queue: String
  let plugins: String
  /// URIs of the items.
  let items: [String]

  private static let modelText = """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" sourceLanguage="Swift">
      <entity name="Item" representedClassName="Item" syncable="YES">
        <attribute name="value" optional="YES" attributeType="Integer 64" defaultValueString="0"
          usesScalarValueType="YES"/>
      </entity>
    </model>
    """

  /// - Parameter name: the path of the store in the place.
  init(items count: Int = 1, in place: TestPlace? = nil, store name: String = "app.sqlite") throws {
    let place = try place ?? TestPlace()
    self.place = place
    store = place.path(name)
    queue = place.path("queue")
    try place.write(Self.modelText, to: "Items.xcdatamodel/contents")
    model = place.path("Items.xcdatamodel")
    plugins = try place.plugins()
    // As a pool makes it: job files may come before the first pool runs.
    try FileManager.default.createDirectory(atPath: queue + "/incoming", withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      atPath: plugins + "/worker-test", withDestinationPath: Built.path("test-worker"))
    let coordinator = NSPersistentStoreCoordinator(
      managedObjectModel: try #require(NSManagedObjectModel(contentsOf: URL(fileURLWithPath: model))))
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: URL(fileURLWithPath: store))
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    items = try context.performAndWait {
      let items = (0..<count).map { _ in NSEntityDescription.insertNewObject(forEntityName: "Item", into: context) }
      try context.save()
      return items.map { $0.objectID.uriRepresentation().absoluteString }
    }
  }

  func start(
    workers: Int = 1, options: [String] = [], environment: [String: String] = [:], record: String? = nil
  ) throws -> RunningPool {
    try RunningPool(
      place, store: store, model: model, plugins: plugins, workers: workers, record: record, options: options,
      environment: environment)
  }

  /// One job for each item.
  func submit(_ kind: String, _ arguments: String...) throws {
    try submit(kind, items: items, arguments)
  }

  func submit(_ kind: String, items: [String], _ arguments: [String] = []) throws {
    for item in items {
      let finished = try run(Built.path("workerpool"), ["submit", "--queue", queue, kind, item] + arguments)
      try #require(finished.code == 0, "\(finished.errors)")
    }
  }

  /// Whether all job files are taken.
  var isTaken: Bool { get throws { try files("queue/incoming").isEmpty && files("queue/taken").isEmpty } }

  /// State, attempts and crashes of all jobs: `3|1|0`, each kind of row once.
  func rows() throws -> String {
    try sqlite(store, "SELECT DISTINCT ZSTATE, ZATTEMPT, ZCRASHES FROM WPPOOLJOB ORDER BY 1, 2, 3")
  }

  /// The check in which each case of the matrix ends, after the last pool has stopped: no process, socket, lock or
  /// temporary file is left, the ledger lists nothing, every effect is there exactly once, and SQLite finds nothing
  /// wrong.
  func checkNothingIsLeft(of pool: RunningPool, value: Int = 1, location: SourceLocation = #_sourceLocation) throws {
    #expect(try pool.leftovers().isEmpty, "processes are left", sourceLocation: location)
    #expect(try files("queue/run").allSatisfy(Self.mayStay), sourceLocation: location)
    #expect(try files("queue/incoming").isEmpty, sourceLocation: location)
    #expect(try files("queue/taken").isEmpty, sourceLocation: location)
    #expect(try sqlite(store, "SELECT count(*) FROM WPPOOLFILE") == "0", sourceLocation: location)
    #expect(try files("queue/rejected").isEmpty, sourceLocation: location)
    let strangers = try files("").filter { $0.hasSuffix("-journal") || $0.hasSuffix(".tmp") }
    #expect(strangers.isEmpty, sourceLocation: location)
    let lock = open(queue, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    #expect(flock(lock, LOCK_EX | LOCK_NB) == 0, "the queue directory is locked", sourceLocation: location)
    // Another test's child may have a copy of the descriptor.
    flock(lock, LOCK_UN)
    close(lock)
    for name in try files("queue/run") where name.hasPrefix("ledger-") {
      let ledger = try LedgerContents(path: queue + "/run/" + name)
      #expect(ledger.entries.isEmpty, "the ledger lists jobs", sourceLocation: location)
    }
    let values = try sqlite(store, "SELECT ZVALUE FROM ZITEM ORDER BY Z_PK")
    #expect(values.split(separator: "\n").allSatisfy { $0 == "\(value)" }, "\(values)", sourceLocation: location)
    let rows = try rows()
    #expect(rows.split(separator: "\n").allSatisfy { $0.hasPrefix("3|") }, "\(rows)", sourceLocation: location)
    #expect(try sqlite(store, "PRAGMA integrity_check") == "ok", sourceLocation: location)
  }

  /// Whether a file may stay in `run/` when the pool has ended.
  static func mayStay(_ name: String) -> Bool {
    ["write-turn", "identity"].contains(name) || name.hasPrefix("ledger-")
  }

  /// The names in a directory, without that of its identity.
  func files(_ directory: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: place.path(directory)).filter { $0 != ".identity" }
  }
}
