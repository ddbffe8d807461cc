import CoreData
import TestFiles

/// A context, the thread that drives it, and how it learns of the others' saves.
///
/// `@unchecked Sendable`: `context` is used on its queue, or on the one thread of a confined context; what changes is
/// used on the party's thread only, until that has ended.
final class Party: @unchecked Sendable {
  /// About how many items there are: more are inserted below, more deleted above.
  static let population = 300

  private let name: String
  private let coordinator: NSPersistentStoreCoordinator
  private let makeContext: () -> NSManagedObjectContext
  private var context: NSManagedObjectContext?
  private let ledger: Ledger
  private var random: SeededGenerator
  /// Objects that stay registered from step to step, and so grow old unless the context merges; used on the context's
  /// queue.
  private var held: [Item] = []
  /// Whether the context is to agree with the file without being refreshed.
  private let followsAutomatically: Bool

  private init(
    _ name: String, _ coordinator: NSPersistentStoreCoordinator, _ ledger: Ledger, seed: UInt64, follows: Bool = false,
    makeContext: @escaping () -> NSManagedObjectContext
  ) {
    self.name = name
    self.coordinator = coordinator
    self.ledger = ledger
    random = SeededGenerator(seed: seed)
    followsAutomatically = follows
    self.makeContext = makeContext
  }

  /// Every kind of context, and every merge policy, on both coordinators.
  static func all(on coordinators: [NSPersistentStoreCoordinator], ledger: Ledger, seed: UInt64) -> [Party] {
    let (first, second) = (coordinators[0], coordinators[1])
    func root(
      _ type: NSManagedObjectContextConcurrencyType, _ coordinator: NSPersistentStoreCoordinator,
      _ policy: NSMergePolicy
    )
      -> NSManagedObjectContext
    {
      let context = NSManagedObjectContext(concurrencyType: type)
      context.persistentStoreCoordinator = coordinator
      context.mergePolicy = policy
      return context
    }
    func child(_ type: NSManagedObjectContextConcurrencyType, of parent: NSManagedObjectContext)
      -> NSManagedObjectContext
    {
      let context = NSManagedObjectContext(concurrencyType: type)
      context.parent = parent
      return context
    }
    let main = root(.mainQueueConcurrencyType, first, .error)
    let follower = root(.privateQueueConcurrencyType, first, .error)
    follower.automaticallyMergesChangesFromParent = true
    let parent = root(.privateQueueConcurrencyType, second, .error)
    tell(follower, of: second)
    return [
      Party("main", first, ledger, seed: seed &+ 1) { main },
      Party("follower", first, ledger, seed: seed &+ 2, follows: true) { follower },
      Party("object-trump", first, ledger, seed: seed &+ 3) {
        root(.privateQueueConcurrencyType, first, .mergeByPropertyObjectTrump)
      },
      Party("confined", first, ledger, seed: seed &+ 4) { root(.confinementConcurrencyType, first, .error) },
      Party("child of main", first, ledger, seed: seed &+ 5) { child(.privateQueueConcurrencyType, of: main) },
      Party("store-trump", second, ledger, seed: seed &+ 6) {
        root(.privateQueueConcurrencyType, second, .mergeByPropertyStoreTrump)
      },
      Party("child", second, ledger, seed: seed &+ 7) { child(.privateQueueConcurrencyType, of: parent) },
      Party("grandchild", second, ledger, seed: seed &+ 8) {
        child(.privateQueueConcurrencyType, of: child(.privateQueueConcurrencyType, of: parent))
      },
    ]
  }

  /// Lets a context merge the saves of another coordinator, of which URIs arrive as from another process.
  private static func tell(_ follower: NSManagedObjectContext, of other: NSPersistentStoreCoordinator) {
    _ = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextDidSaveObjectIDs, object: nil, queue: nil
    ) { notification in
      guard let saving = notification.object as? NSManagedObjectContext, saving.parent == nil,
        saving.persistentStoreCoordinator === other
      else { return }
      var changes: [AnyHashable: Any] = [:]
      for key in [NSInsertedObjectIDsKey, NSUpdatedObjectIDsKey, NSDeletedObjectIDsKey] {
        let ids = notification.userInfo?[key] as? Set<NSManagedObjectID> ?? []
        changes[key] = ids.map { $0.uriRepresentation() }
      }
      NSManagedObjectContext.mergeChanges(fromRemoteContextSave: changes, into: [follower])
    }
  }

  // MARK: Work

  func work(until end: ContinuousClock.Instant) {
    let context = makeContext()
    context.name = name
    self.context = context
    while ContinuousClock.now < end {
      // Each step sees its ancestors' queues to itself: their pending changes are then this step's alone.
      inChain(context) { self.step(context) }
      ledger.add(\.steps, 1)
    }
    if context.concurrencyType == .confinementConcurrencyType {
      // Only this thread may use it.
      held = []
      self.context = nil
    }
  }

  /// Runs the body on the queues of the context and of all above it, the root's first.
  private func inChain(_ context: NSManagedObjectContext, _ body: () -> Void) {
    if let parent = context.parent {
      inChain(parent) { context.performAndWait(body) }
    } else if context.concurrencyType == .confinementConcurrencyType {
      body()
    } else {
      context.performAndWait(body)
    }
  }

  private func step(_ context: NSManagedObjectContext) {
    do {
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<3:
        held = []
        context.reset()
      case 3..<6: context.refreshAllObjects()
      case 6..<26: try look(context)
      default: try change(context)
      }
    } catch {
      ledger.fail("\(name): \(error)")
    }
  }

  /// Fetches in one of several ways.
  private func look(_ context: NSManagedObjectContext) throws {
    let request = Item.fetchRequest()
    request.predicate = NSPredicate(format: "hits >= %d", Int.random(in: 0...5, using: &random))
    request.fetchBatchSize = Bool.random(using: &random) ? 20 : 0
    request.sortDescriptors = [NSSortDescriptor(key: "hits", ascending: Bool.random(using: &random))]
    var sum: Int64 = 0
    for item in try context.fetch(request) { sum += item.hits }
    // An item whose row another has deleted since it was found counts as deleted here.
    for level in sequence(first: context, next: \.parent) { level.rollback() }
    if sum < 0 { throw Wrong("hits below zero") }
  }

  private func change(_ context: NSManagedObjectContext) throws {
    var step = Step()
    let items = try context.fetch(Item.fetchRequest())
    // A child's old values win over its parent's: holding some there would rightly lose hits.
    if context.parent == nil { held = Array(items.prefix(50)) }
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      let item = items.randomElement(using: &random)
      switch Int.random(in: 0..<10, using: &random) {
      case 0 where items.count < 2 * Self.population:
        Item(context: context).note = name
        step.inserted += 1
      case 1 where items.count > Self.population / 2:
        // A hit of this very step would count, though the row may be gone.
        guard let item, !item.hasChanges, let hits = hits(of: item), losesNothing(context) else { continue }
        step.deleted[item.objectID.uriRepresentation().lastPathComponent] = hits
        context.delete(item)
      case 2...4:
        guard let item, !item.isDeleted else { continue }
        item.shelf = try context.fetch(Shelf.fetchRequest()).randomElement(using: &random)
      case 5...6: item?.note = "\(name) \(Int.random(in: 0...9, using: &random))"
      default:
        guard let item, let hits = hits(of: item), losesNothing(context) else { continue }
        item.hits = hits + 1
        step.hits += 1
      }
    }
    try saveUp(context, step)
  }

  /// The item's hits; nil where it is deleted, or turns out to be when its row is read.
  private func hits(of item: Item) -> Int64? {
    guard !item.isDeleted else { return nil }
    let hits = item.hits
    return item.isDeleted ? nil : hits
  }

  /// Under the other policies one value wins over another: hits would rightly be lost.
  private func losesNothing(_ context: NSManagedObjectContext) -> Bool {
    (context.mergePolicy as? NSMergePolicy)?.mergeType == .errorMergePolicyType
  }

  /// Saves through all levels; on a conflict takes everything back.
  private func saveUp(_ context: NSManagedObjectContext, _ step: Step) throws {
    let chain = Array(sequence(first: context, next: \.parent))
    do {
      for level in chain where level.hasChanges { try level.save() }
      ledger.enter(step)
    } catch let error as CocoaError
      where [.managedObjectMerge, .managedObjectReferentialIntegrity].contains(error.code)
    {
      ledger.add(\.conflicts, 1)
      for level in chain {
        level.rollback()
        level.refreshAllObjects()
      }
    }
  }

  // MARK: The end

  /// Waits until what has been sent to the context's queue has been done.
  func waitForMerges() {
    guard let context else { return }
    for level in sequence(first: context, next: \.parent) { level.performAndWait {} }
  }

  /// Compares what the context has registered with the file.
  func compare(with file: [URL: ItemState]) throws {
    guard let context else { return }
    var failure: Wrong?
    inChain(context) {
      for level in sequence(first: context, next: \.parent) where !self.followsAutomatically {
        level.refreshAllObjects()
      }
      do {
        let items = try context.fetch(Item.fetchRequest())
        guard items.count == file.count else {
          throw Wrong("\(self.name) has \(items.count) items, the file \(file.count)")
        }
        for item in items where file[item.objectID.uriRepresentation()] != ItemState(item) {
          throw Wrong(
            "\(self.name) shows \(ItemState(item)), the file has "
              + "\(String(describing: file[item.objectID.uriRepresentation()]))"
          )
        }
        // An object that the program held when its deletion was merged stays deleted until the next save.
        let deleted = context.deletedObjects.filter { file[$0.objectID.uriRepresentation()] != nil }
        guard context.insertedObjects.isEmpty, context.updatedObjects.isEmpty, deleted.isEmpty else {
          throw Wrong("\(self.name) has changes left")
        }
      } catch {
        failure = error as? Wrong ?? Wrong("\(self.name): \(error)")
      }
    }
    if let failure { throw failure }
  }
}
