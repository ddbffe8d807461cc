import CoreData
import Jobs

extension StoreReader {
  /// How many different names are compared. With more of them a similar name means little.
  private static let mostNames = 1000

  /// For a filter that chooses no job: one sentence for each of its names that no job has, with the nearest that jobs
  /// have.
  public func unknownNames(in filter: JobFilter) throws -> [String] {
    let names = [("kind", filter.kind), ("queue", filter.queue), ("batch", filter.batch)]
    var sentences: [String] = []
    try perform { context, _ in
      for case (let key, let name?) in names {
        let known = try Self.names(key, in: context)
        guard known.count < Self.mostNames, !known.contains(name) else { continue }
        sentences.append("no job has the \(key) \(name)\(Spelling.hint(to: name, among: known))")
      }
    }
    return sentences
  }

  private static func names(_ key: String, in context: NSManagedObjectContext) throws -> [String] {
    let request = NSFetchRequest<NSDictionary>(entityName: Job.entityName)
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = [key]
    request.returnsDistinctResults = true
    request.predicate = NSPredicate(format: "%K != nil", key)
    request.fetchLimit = mostNames
    return try context.fetch(request).compactMap { $0[key] as? String }
  }
}
