import CoreData

@MainActor func queues(_ place: Place) async throws {
  let container = try place.loadedContainer()

  // A main-queue context is used on the main thread, a private-queue context inside `perform` and `performAndWait`.
  let main = container.viewContext
  let background = NSManagedObjectContext(.privateQueue)
  background.persistentStoreCoordinator = container.persistentStoreCoordinator

  // `perform` returns at once; its blocks run one after the other, in the order of the calls.
  let order = Locked<[Int]>([])
  enqueue(1...3, on: background, in: order)

  // `performAndWait` waits for its turn, returns what the block returns, and throws what it throws.
  let name = try background.performAndWait {
    let person = Person(context: background)
    person.name = "Ada"
    try background.save()
    return person.name
  }
  try show(
    "blocks ran in order \(order.value), then performAndWait returned \(name ?? "nil")", order.value == [1, 2, 3])

  // Inside a block of the same context it runs inline, however deeply nested.
  let depth = background.performAndWait { background.performAndWait { background.performAndWait { 3 } } }
  try show("performAndWait inside performAndWait runs inline: depth \(depth)", depth == 3)

  // `await perform` suspends instead of blocking. Its result leaves the queue, so it must be Sendable: values, object
  // IDs.
  let id = try await background.perform {
    let request = Person.fetchRequest()
    request.predicate = NSPredicate(format: "name == %@", "Ada")
    return try background.fetch(request).first?.objectID
  }
  let found = id.map { main.object(with: $0) as? Person }
  try show("the main context finds the object by its ID: \(found??.name ?? "nil")", found??.name == "Ada")

  // `.immediate` runs at once if the caller is on the queue already; `.enqueued` always goes to the back of the queue.
  let log = Locked<[String]>([])
  await background.perform {
    background.perform { log.change { $0.append("queued before") } }
  }
  await background.perform(schedule: .enqueued) { log.change { $0.append("enqueued") } }
  try show("an enqueued block comes after what waited: \(log.value)", log.value == ["queued before", "enqueued"])
}

/// In a function that is not `async`, `perform` is the form that does not wait.
private func enqueue(_ numbers: ClosedRange<Int>, on context: NSManagedObjectContext, in order: Locked<[Int]>) {
  for number in numbers {
    context.perform { order.change { $0.append(number) } }
  }
}
