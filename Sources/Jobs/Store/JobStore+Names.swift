import CoreData

/// What a name in a job's row stands for; the attribute has the same name.
public enum JobName: String, CaseIterable, Sendable {
  case kind, queue, batch
}

/// Names that jobs have.
extension JobStore {
  /// The most names that are read in a row: a mistyped name usually resembles one of a few.
  private static let mostNames = 200

  /// The name with the one that was probably meant, among the known ones and those of jobs; nil for a name that is
  /// known or that a job has.
  ///
  /// ```text
  /// pause --queue maik      unknownName(.queue, "maik") ─▶ maik; did you mean "mail"?
  /// ```
  ///
  /// - Parameter known: names that count as known even if no job has them.
  /// - Complexity: reads one entry of an index for each name, kind and unfinished state. Where no unfinished job has
  ///   the kind or queue, the finished ones are read.
  /// - Throws: what a fetch throws.
  package static func unknownName(
    _ what: JobName, _ name: String, besides known: [String] = [], in context: NSManagedObjectContext
  ) throws -> UnknownName? {
    if known.contains(name) { return nil }
    if try hasJobs(what, name, in: context) { return nil }
    return UnknownName(what.rawValue, name, among: known + (try names(what, near: name, in: context)))
  }

  /// Whether any job has the name: by the indexes of unfinished jobs, which have the state and the kind in front, so
  /// each of them is asked for.
  private static func hasJobs(_ what: JobName, _ name: String, in context: NSManagedObjectContext) throws -> Bool {
    let isNamed = NSPredicate(format: "%K == %@", what.rawValue, name)
    if what == .batch { return try first([isNamed], in: context) != nil }
    for state in JobState.allCases where state.isUnfinished {
      guard what == .queue else {
        if try first([state.predicate, isNamed], in: context) != nil { return true }
        continue
      }
      // The index of queues has the kind before the queue.
      for kind in try names(.kind, where: [state.predicate], in: context) {
        let isOfKind = NSPredicate(format: "kind == %@", kind)
        if try first([state.predicate, isOfKind, isNamed], in: context) != nil { return true }
      }
    }
    return try first([NSPredicate(format: "finishedAt != nil"), isNamed], in: context) != nil
  }

  /// Names of unfinished and of finished jobs; of batches those first that begin with the same letter.
  private static func names(_ what: JobName, near name: String, in context: NSManagedObjectContext) throws -> [String] {
    if what == .batch {
      let similar = try Self.names(.batch, from: String(name.prefix(1)), in: context)
      return similar.count < mostNames ? similar + (try Self.names(.batch, in: context)) : similar
    }
    var names: Set<String> = []
    for state in JobState.allCases where state.isUnfinished {
      let kinds = try Self.names(.kind, where: [state.predicate], in: context)
      guard what == .queue else {
        names.formUnion(kinds)
        continue
      }
      for kind in kinds where names.count < mostNames {
        let isOfKind = NSPredicate(format: "kind == %@", kind)
        names.formUnion(try Self.names(.queue, where: [state.predicate, isOfKind], in: context))
      }
    }
    let finished = NSFetchRequest<NSDictionary>(entityName: PoolJob.entityName)
    finished.predicate = NSPredicate(format: "finishedAt != nil")
    finished.resultType = .dictionaryResultType
    finished.propertiesToFetch = [what.rawValue]
    finished.returnsDistinctResults = true
    finished.fetchLimit = mostNames
    names.formUnion(try context.fetch(finished).compactMap { $0[what.rawValue] as? String })
    return names.sorted()
  }

  /// The names in an index that begin with a text, in their order. One entry is read for each, however many jobs have
  /// it: the next name is the first that is greater than the last one (a "loose index scan", which neither database
  /// does by itself).
  private static func names(
    _ what: JobName, from start: String = "", where conditions: [NSPredicate] = [], in context: NSManagedObjectContext
  ) throws -> [String] {
    var names: [String] = []
    while names.count < mostNames {
      let isLater = NSPredicate(format: "%K > %@", what.rawValue, names.last ?? start)
      let job = try first(conditions + [isLater], orderedBy: what, in: context)
      guard let next = job?.value(forKey: what.rawValue) as? String, next.hasPrefix(start) else { break }
      names.append(next)
    }
    return names
  }

  /// The first job that fulfils the conditions, in the order of a name if one is asked for.
  private static func first(
    _ conditions: [NSPredicate], orderedBy name: JobName? = nil, in context: NSManagedObjectContext
  ) throws -> PoolJob? {
    let request = PoolJob.fetchRequest()
    request.predicate = NSCompoundPredicate(andPredicateWithSubpredicates: conditions)
    request.sortDescriptors = name.map { [NSSortDescriptor(key: $0.rawValue, ascending: true)] }
    request.fetchLimit = 1
    request.returnsObjectsAsFaults = false
    return try context.fetch(request).first
  }
}
