import CoreData
import WorkerProtocol

/// A turn: a row by which pools decide one after the other, without a lock that would have to be released.
///
/// ```text
/// pool 1                          pool 2
/// begin: count = 7                begin: count = 7
/// decides                         decides
/// take: count = 8
/// save: the row had version 7
///                                 take: count = 8
///                                 save: the row has version 8 now: merge conflict, 133020
///                                 rolls back, begins again with count = 8
/// ```
extension PoolTurn {
  /// The turn of claims that a limit or a rate bounds.
  static let claims = "claims"

  /// Begins a turn: reads the row, or inserts it. All that is read after this is at least as new as the row.
  static func begin(_ name: String, in context: NSManagedObjectContext) throws -> PoolTurn {
    let request = fetchRequest()
    request.predicate = NSPredicate(format: "name == %@", name)
    if let turn = try context.fetch(request).first { return turn }
    let turn = PoolTurn(context: context)
    turn.name = name
    return turn
  }

  /// Makes the save of the context fail if another pool has taken its turn since it was begun.
  func take(keeping text: String? = nil) {
    count += 1
    if let text { self.text = text }
  }
}
