import CoreData

/// The stacks, the parties that work on them, and the account that is settled at the end.
final class Stress: Sendable {
  private let folder: URL
  private let parties: [Party]
  private let coordinators: [NSPersistentStoreCoordinator]
  private let ledger = Ledger()

  init(seed: UInt64) throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("stress-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    guard let url = Bundle.module.url(forResource: "Stress", withExtension: "momd"),
      let model = NSManagedObjectModel(contentsOf: url)
    else { throw Wrong("no model") }
    let file = folder.appendingPathComponent("stress.sqlite")
    let options = [NSPersistentStoreRemoteChangeNotificationPostOptionKey: true as NSNumber]
    coordinators = try (1...2).map { _ in
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: file, options: options)
      return coordinator
    }
    for coordinator in coordinators {
      _ = NotificationCenter.default.addObserver(
        forName: .NSPersistentStoreRemoteChange, object: coordinator, queue: nil
      ) { [ledger] _ in ledger.add(\.remoteChanges, 1) }
    }
    parties = Party.all(on: coordinators, ledger: ledger, seed: seed)
    try fill()
  }

  func removeFiles() { try? FileManager.default.removeItem(at: folder) }

  private func fill() throws {
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinators[0]
    try context.performAndWait {
      for number in 1...8 { Shelf(context: context).name = "Shelf \(number)" }
      for _ in 1...Party.population { _ = Item(context: context) }
      try context.save()
    }
    ledger.add(\.inserted, Party.population)
  }

  func run(seconds: Double) throws {
    let start = ContinuousClock.now
    let (end, warm) = (start + .seconds(seconds), start + .seconds(seconds / 5))
    let stopped = DispatchGroup()
    for party in parties {
      stopped.enter()
      Thread.detachNewThread {
        party.work(until: end)
        stopped.leave()
      }
    }
    var atWarm: Int?
    var seen = ledger.value.steps
    var lastMove = ContinuousClock.now
    while stopped.wait(timeout: .now() + 0.5) == .timedOut {
      let now = ContinuousClock.now
      if atWarm == nil && now > warm { atWarm = Memory.resident }
      let steps = ledger.value.steps
      if steps != seen { (seen, lastMove) = (steps, now) }
      if now - lastMove > .seconds(60) { throw Wrong("nothing has moved for a minute: a deadlock") }
    }
    let memory = Memory.resident
    try settle()
    print("memory: \(atWarm ?? memory) MB after a fifth of the time, \(memory) MB at the end")
    // The caches may still fill; what grows with the number of steps would be far more.
    if let atWarm, memory > atWarm + max(40, atWarm / 3) { throw Wrong("memory grew from \(atWarm) to \(memory) MB") }
  }

  /// Compares what the parties know they did with what the file says, and what each context shows with what the file
  /// says.
  private func settle() throws {
    for party in parties { party.waitForMerges() }
    let file = try contents()
    let account = ledger.value
    print(
      "\(account.steps) steps, \(account.saves) saves, \(account.conflicts) conflicts; \(account.inserted) inserted, "
        + "\(account.deleted.count) deleted, \(account.deletedTwice) of them twice, \(account.hits) hits; "
        + "\(account.remoteChanges) remote changes noticed; \(file.count) items")
    guard account.remoteChanges > 0 else { throw Wrong("no coordinator noticed that the file was written") }
    if let trouble = account.trouble { throw Wrong(trouble) }
    guard file.count == account.inserted - account.deleted.count else {
      throw Wrong("\(file.count) items, but \(account.inserted) were inserted and \(account.deleted.count) deleted")
    }
    let (hits, gone) = (file.values.reduce(0) { $0 + $1.hits }, account.deleted.values.reduce(0, +))
    guard hits == account.hits - gone else {
      throw Wrong("\(hits) hits in the file, but \(account.hits) were saved, \(gone) of them since deleted")
    }
    for party in parties { try party.compare(with: file) }
    try checkIntegrity()
    print("every context agrees with the file")
  }

  /// The items as a new coordinator reads them.
  private func contents() throws -> [URL: ItemState] {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: coordinators[0].managedObjectModel)
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: folder.appendingPathComponent("stress.sqlite"),
      options: nil)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    return try context.performAndWait {
      let items = try context.fetch(Item.fetchRequest())
      for shelf in try context.fetch(Shelf.fetchRequest()) {
        let members = shelf.items as? Set<Item> ?? []
        guard members == Set(items.filter { $0.shelf == shelf }) else {
          throw Wrong("a shelf's items are not those on it")
        }
      }
      return Dictionary(uniqueKeysWithValues: items.map { ($0.objectID.uriRepresentation(), ItemState($0)) })
    }
  }

  private func checkIntegrity() throws {
    let store = NSPersistentStoreDescription(url: folder.appendingPathComponent("stress.sqlite"))
    guard let path = store.url?.path else { return }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["sqlite3", path, "PRAGMA integrity_check"]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let answer = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard answer == "ok\n" else { throw Wrong("integrity_check: \(answer)") }
  }
}

/// An item's values.
struct ItemState: Equatable {
  let hits: Int64
  let note: String?
  let shelf: URL?

  init(_ item: Item) {
    hits = item.hits
    note = item.note
    shelf = item.shelf?.objectID.uriRepresentation()
  }
}

/// What was saved, counted by those who saved it.
///
/// `@unchecked Sendable`: `account` is only touched under the lock, which is no `Mutex` because ThreadSanitizer knows
/// nothing of that.
final class Ledger: @unchecked Sendable {
  struct Account {
    var steps = 0
    var saves = 0
    var conflicts = 0
    var inserted = 0
    /// The hits that each had when it was deleted, by the last part of its URI: many, and little memory.
    var deleted: [String: Int64] = [:]
    /// A row that another context deletes meanwhile is no conflict: both have deleted it.
    var deletedTwice = 0
    var hits: Int64 = 0
    var remoteChanges = 0
    var trouble: String?
  }

  private let lock = NSLock()
  private var account = Account()

  var value: Account { lock.withLock { account } }

  func add(_ key: WritableKeyPath<Account, Int> & Sendable, _ count: Int) {
    lock.withLock { account[keyPath: key] += count }
  }

  func enter(_ step: Step) {
    lock.withLock {
      account.saves += 1
      account.inserted += step.inserted
      account.hits += step.hits
      for (uri, hits) in step.deleted {
        // Hits only grow: who saw the most was the one whose deletion met the row.
        let before = account.deleted.updateValue(max(hits, account.deleted[uri] ?? 0), forKey: uri)
        if before != nil { account.deletedTwice += 1 }
      }
    }
  }

  func fail(_ sentence: String) { lock.withLock { account.trouble = account.trouble ?? sentence } }
}

/// What one save of a party will have done.
struct Step {
  var inserted = 0
  /// The hits that each had, by the last part of its URI.
  var deleted: [String: Int64] = [:]
  var hits: Int64 = 0
}

enum Memory {
  /// The process's resident set in MB.
  static var resident: Int {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return pages * 4096 / 1_048_576
  }
}
