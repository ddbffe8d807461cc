import CoreData

extension JobStore {
  /// The most names that are read: a mistyped name usually resembles one of a few.
  private static let mostNames = 200

  /// The name, if unfinished jobs of one of these kinds have it as their queue; otherwise the queues of jobs, at most
  /// 200 of them.
  ///
  /// - Complexity: reads one entry of an index for each state and kind, and for each queue; where no unfinished job has
  ///   the name, the finished ones are read.
  public func queueNames(
    near name: String, kinds: [String], in context: NSManagedObjectContext
  ) throws -> [String] {
    for state in JobState.allCases where state.isUnfinished {
      for kind in kinds {
        let request = PoolJob.fetchRequest()
        request.predicate = NSCompoundPredicate(andPredicateWithSubpredicates: [
          state.predicate, NSPredicate(format: "kind == %@ AND queue == %@", kind, name),
        ])
        if try !first(request, in: context).isEmpty { return [name] }
      }
    }
    var names: Set<String> = []
    for state in JobState.allCases where state.isUnfinished {
      for kind in kinds {
        var last = ""
        while names.count < Self.mostNames {
          let request = PoolJob.fetchRequest()
          request.predicate = NSCompoundPredicate(andPredicateWithSubpredicates: [
            state.predicate, NSPredicate(format: "kind == %@ AND queue > %@", kind, last),
          ])
          request.sortDescriptors = [NSSortDescriptor(key: "queue", ascending: true)]
          guard let next = try first(request, in: context).first?.queue else { break }
          last = next
          names.insert(next)
        }
      }
    }
    let finished = NSFetchRequest<NSDictionary>(entityName: PoolJob.entityName)
    finished.predicate = NSPredicate(format: "finishedAt != nil")
    finished.resultType = .dictionaryResultType
    finished.propertiesToFetch = ["queue"]
    finished.returnsDistinctResults = true
    finished.fetchLimit = Self.mostNames
    names.formUnion(try context.fetch(finished).compactMap { $0["queue"] as? String })
    return names.sorted()
  }

  /// The name, if jobs have it as their batch; otherwise batches that begin with the same letter, at most 200 of them.
  public func batchNames(near name: String, in context: NSManagedObjectContext) throws -> [String] {
    let exact = PoolJob.fetchRequest()
    exact.predicate = NSPredicate(format: "batch == %@", name)
    if try !first(exact, in: context).isEmpty { return [name] }
    let start = String(name.prefix(1))
    var names: [String] = []
    var last = start
    while names.count < Self.mostNames {
      let request = PoolJob.fetchRequest()
      request.predicate = NSPredicate(format: "batch > %@", last)
      request.sortDescriptors = [NSSortDescriptor(key: "batch", ascending: true)]
      guard let next = try first(request, in: context).first?.batch, next.hasPrefix(start) else { break }
      last = next
      names.append(next)
    }
    return names
  }

  private func first(_ request: NSFetchRequest<PoolJob>, in context: NSManagedObjectContext) throws -> [PoolJob] {
    request.fetchLimit = 1
    request.returnsObjectsAsFaults = false
    return try context.fetch(request)
  }
}
