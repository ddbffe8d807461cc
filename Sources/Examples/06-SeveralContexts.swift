import CoreData

func severalContexts(_ place: Place) async throws {
  let container = try place.loadedContainer()

  // Contexts of one coordinator may save at the same time: the coordinator writes one save after the other, each in a
  // transaction.
  try await withThrowingTaskGroup(of: Void.self) { group in
    for writer in 1...4 {
      group.addTask {
        let context = container.newBackgroundContext()
        for number in 1...25 {
          try await context.perform {
            let person = Person(context: context)
            person.name = "\(writer)/\(number)"
            try context.save()
          }
        }
      }
    }
    try await group.waitForAll()
  }
  let count = try await container.performBackgroundTask { try $0.count(for: Person.fetchRequest()) }
  try show("four contexts saved 25 times each: \(count) people", count == 100)

  // Reads wait neither for each other nor for a write: here two fetches run at once.
  let inside = Locked(0)
  let both = DispatchSemaphore(value: 0)
  try await withThrowingTaskGroup(of: Int.self) { group in
    for _ in 1...2 {
      group.addTask {
        try await container.performBackgroundTask { context in
          if inside.change({ count -> Int in
            count += 1; return count
          }) == 2 {
            both.signal()
          }
          both.wait()
          both.signal()
          return try context.fetch(Person.fetchRequest()).count
        }
      }
    }
    for try await count in group { try show("a reader beside another: \(count) people", count == 100) }
  }
}
