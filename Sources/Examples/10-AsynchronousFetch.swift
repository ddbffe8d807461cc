import CoreData

@MainActor func asynchronousFetch(_ place: Place) async throws {
  let container = try place.loadedContainer()
  try await container.performBackgroundTask { context in
    for number in 1...5_000 { Person(context: context).name = "Person \(number)" }
    try context.save()
  }
  let view = container.viewContext

  // The fetch runs on another thread. The block is called on the context's queue when it is done.
  let progress = Progress(totalUnitCount: 1)
  let request = Person.fetchRequest()
  request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
  let count: Int = try await withCheckedThrowingContinuation { continuation in
    let asynchronous = NSAsynchronousFetchRequest(fetchRequest: request) { result in
      continuation.resume(returning: result.finalResult?.count ?? 0)
    }
    asynchronous.estimatedResultCount = 5_000
    progress.becomeCurrent(withPendingUnitCount: 1)
    do {
      _ = try view.execute(asynchronous)
    } catch {
      continuation.resume(throwing: error)
    }
    progress.resignCurrent()
    print("  the caller goes on while the fetch runs")
  }
  try show("\(count) people, fetched elsewhere, arrived on the main queue", count == 5_000)
  try show("progress: \(progress.fractionCompleted)", progress.isFinished)

  // A fetch that is no longer needed is cancelled: the block is called without a result.
  let wasCancelled: Bool = try await withCheckedThrowingContinuation { continuation in
    let asynchronous = NSAsynchronousFetchRequest(fetchRequest: request) { result in
      continuation.resume(returning: result.finalResult == nil)
    }
    do {
      (try view.execute(asynchronous) as? NSPersistentStoreAsynchronousResult)?.cancel()
    } catch {
      continuation.resume(throwing: error)
    }
  }
  print("  cancelled: \(wasCancelled)")
}
