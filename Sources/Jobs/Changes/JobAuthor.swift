import CoreData

/// The author of the transactions of jobs in the app's persistent history: "workerpool p17/1 p18/1", each job with the
/// number of its attempt. Jobs that share a transaction are all named.
///
/// By it an app that follows its history knows which changes came from which job. A history has no other field for it.
package enum JobAuthor {
  private static let start = "workerpool"

  /// The author of a transaction of one more job.
  package static func adding(_ key: JobKey, _ attempt: Int, to author: String?) -> String {
    "\(author ?? start) p\(key)/\(attempt)"
  }

  /// The jobs that an author names, with their attempts; none for authors that are no jobs, such as an app's own.
  static func jobs(_ author: String?) -> [(name: String, attempt: Int)] {
    guard let words = author?.split(separator: " "), words.first ?? "" == start else { return [] }
    return words.dropFirst().compactMap { word in
      let parts = word.split(separator: "/")
      guard parts.count == 2, let attempt = Int(parts[1]) else { return nil }
      return (String(parts[0]), attempt)
    }
  }
}

extension JobSave {
  /// The saves of a job that the app's store has in its persistent history, without values; nil for a store without a
  /// history. Called on the context's queue.
  ///
  /// The author is looked for as " p17/", with a space before it and a slash behind: p1 and p170 are others.
  ///
  /// - Parameter date: the history is read from this time on.
  /// - Complexity: reads all transactions since then.
  package static func history(
    of key: JobKey, since date: Date, in context: NSManagedObjectContext
  ) throws -> [JobSave]? {
    let request = NSPersistentHistoryChangeRequest.fetchHistory(after: date)
    let fetch = NSPersistentHistoryTransaction.fetchRequest
    fetch?.predicate = NSPredicate(format: "author CONTAINS %@", " p\(key)/")
    request.fetchRequest = fetch
    let result: NSPersistentStoreResult
    do {
      result = try context.execute(request)
    } catch let error as NSError where error.code == NSPersistentStoreUnsupportedRequestTypeError {
      return nil
    }
    let transactions = (result as? NSPersistentHistoryResult)?.result as? [NSPersistentHistoryTransaction] ?? []
    return transactions.compactMap { transaction in
      let jobs = JobAuthor.jobs(transaction.author)
      guard let own = jobs.first(where: { $0.name == "p\(key)" }) else { return nil }
      var save = JobSave(
        attempt: own.attempt, date: transaction.timestamp, changes: (transaction.changes ?? []).map(ObjectChange.init))
      save.others = jobs.map(\.name).filter { $0 != own.name }
      return save
    }
  }
}

extension ObjectChange {
  fileprivate init(_ change: NSPersistentHistoryChange) {
    let what: What =
      switch change.changeType {
      case .insert: .inserted
      case .update: .updated
      case .delete: .deleted
      }
    self.init(
      what, change.changedObjectID.uriString, properties: (change.updatedProperties ?? []).map(\.name).sorted())
  }
}
