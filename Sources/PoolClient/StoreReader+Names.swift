import CoreData
import Jobs

extension StoreReader {
  /// For a filter that chooses no job: one sentence for each of its names that no job has, with the nearest that jobs
  /// have.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// var filter = JobFilter()
  /// filter.kind = "imprt"
  /// for sentence in try StoreReader(poolStore: "app.sqlite").unknownNames(in: filter) {
  ///   print(sentence)  // no job has the kind imprt; did you mean import?
  /// }
  /// ```
  ///
  /// It reads the names of the store's jobs, so call it only if the filter has found nothing.
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
