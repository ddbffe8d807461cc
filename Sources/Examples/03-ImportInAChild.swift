import CoreData

@MainActor func importInAChild(_ place: Place) async throws {
  let count = 20_000
  let json = try JSONEncoder().encode((1...count).map { Row(name: "Person \($0)", age: $0 % 90) })
  let container = try place.loadedContainer()

  // The main context saves into its private parent, which writes the file: no save blocks the main queue with file
  // access.
  let root = container.newBackgroundContext()
  let main = NSManagedObjectContext(.mainQueue)
  main.parent = root

  let stalls = StallMeter()
  let child = NSManagedObjectContext(.privateQueue)
  child.parent = main
  try await child.perform {
    for (index, row) in try JSONDecoder().decode([Row].self, from: json).enumerated() {
      let person = Person(context: child)
      person.name = row.name
      person.age = Int64(row.age)
      // Each save moves changes one level up, and the main context is busy meanwhile: so the import saves in portions.
      if index % portion == portion - 1 { try child.saveUp() }
    }
    try child.saveUp()
  }
  let stored = try await container.performBackgroundTask { try $0.count(for: Person.fetchRequest()) }
  try show("\(stored) people came through the main context into the store", stored == count)
  print("  the main queue's longest stall: \(stalls.end()) ms")

  // The same import without the main context: a background context on the coordinator, whose saves the main context
  // merges.
  let second = StallMeter()
  container.viewContext.automaticallyMergesChangesFromParent = true
  try await container.performBackgroundTask { context in
    for (index, row) in try JSONDecoder().decode([Row].self, from: json).enumerated() {
      let person = Person(context: context)
      person.name = row.name
      person.age = Int64(row.age)
      if index % portion == portion - 1 {
        try context.save()
        context.reset()
      }
    }
    try context.save()
  }
  let shown = try container.viewContext.count(for: Person.fetchRequest())
  try show("performBackgroundTask imported as many again: \(shown)", shown == 2 * count)
  print("  the main queue's longest stall: \(second.end()) ms")
}

/// The number of objects in one save.
private let portion = 200

extension NSManagedObjectContext {
  /// Saves this context and its ancestors, each on its queue, and then forgets their objects, which are in the store.
  fileprivate func saveUp() throws {
    try performAndWait {
      guard hasChanges else { return }
      try save()
      try parent?.saveUp()
      reset()
    }
  }
}

private struct Row: Codable {
  let name: String
  let age: Int
}

/// Measures the longest time for which the main queue runs no new block.
///
/// `@unchecked Sendable`: used on the main queue, except by the timer, which only sends blocks there.
final class StallMeter: @unchecked Sendable {
  private let timer = DispatchSource.makeTimerSource(queue: .global())
  private var longest: UInt64 = 0

  init() {
    timer.schedule(deadline: .now(), repeating: .milliseconds(1))
    timer.setEventHandler { [weak self] in
      let sent = DispatchTime.now().uptimeNanoseconds
      DispatchQueue.main.async {
        guard let self else { return }
        self.longest = max(self.longest, DispatchTime.now().uptimeNanoseconds - sent)
      }
    }
    timer.resume()
  }

  /// Ends the measurement and returns the longest stall in milliseconds.
  @MainActor func end() -> Double {
    timer.cancel()
    return (Double(longest) / 1e5).rounded() / 10
  }
}
