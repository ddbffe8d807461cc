import CoreData
import Jobs

extension StoreReader {
  /// For a filter that chooses no job: one sentence for each of its names that no job has, with the nearest that jobs
  /// have.
  public func unknownNames(in filter: JobFilter) throws -> [String] {
    var sentences: [String] = []
    try perform { context, _ in
      for (what, name) in filter.names {
        guard let unknown = try JobStore.unknownName(what, name, in: context) else { continue }
        sentences.append("no job has the \(what.rawValue) \(name)\(unknown.hint)")
      }
    }
    return sentences
  }
}
