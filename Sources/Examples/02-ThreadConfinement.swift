import CoreData

func threadConfinement(_ place: Place) async throws {
  let coordinator = try place.loadedContainer().persistentStoreCoordinator

  // Before contexts had queues, each thread had a context of its own, kept in the thread's dictionary.
  let contextOfThisThread: @Sendable () -> NSManagedObjectContext = {
    let key = "context"
    if let context = Thread.current.threadDictionary[key] as? NSManagedObjectContext { return context }
    let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    Thread.current.threadDictionary[key] = context
    return context
  }

  // Such a context has no queue: only the thread that created it may use it, without `perform`.
  let results = Locked<[Result<NSManagedObjectID, any Error>]>([])
  let ended = DispatchGroup()
  for number in 1...4 {
    ended.enter()
    Thread.detachNewThread {
      let result = Result {
        let context = contextOfThisThread()
        let person = Person(context: context)
        person.name = "Person \(number)"
        try context.save()
        try show("the thread's context is still the same", contextOfThisThread() === context)
        return person.objectID
      }
      results.change { $0.append(result) }
      ended.leave()
    }
  }
  await withCheckedContinuation { continuation in ended.notify(queue: .global()) { continuation.resume() } }

  // Object IDs cross threads, objects do not.
  let ids = try results.value.map { try $0.get() }
  try show("four threads saved \(Set(ids).count) people, each with a context of its own", Set(ids).count == 4)
}
