/// Gives delegates whole snapshots, if they take them.
///
/// A delegate's class is asked by a call: its own method runs, or the protocol's default, which sets
/// `snapshotWasIgnored`. The answer holds for all delegates of the class.
extension FetchedResults {
  /// Whether the delegate takes snapshots. It is found out by giving the first delegate of each type the current
  /// snapshot.
  ///
  /// So the delegate may get one more snapshot than there are changes; it shows the present rows.
  var delegateTakesSnapshots: Bool {
    guard let delegate else { return false }
    let type = ObjectIdentifier(Swift.type(of: delegate))
    if let cached = takesSnapshots, cached.type == type { return cached.answer }
    tellSnapshot(changed: [])
    return takesSnapshots?.answer ?? false
  }

  /// Gives the delegate the rows of a fetch, unless it is known not to take snapshots.
  ///
  /// So a delegate that takes snapshots shows the first rows the same way as later ones.
  func tellSnapshotOfFetch() {
    guard let delegate else { return }
    let isIgnored = takesSnapshots.map { $0.type == ObjectIdentifier(Swift.type(of: delegate)) && !$0.answer } ?? false
    if !isIgnored { tellSnapshot(changed: []) }
  }

  /// Gives the delegate the present rows as a snapshot.
  ///
  /// - Parameter changed: the rows to list as reloaded, because their values changed.
  func tellSnapshot(changed: Set<ObjectIdentifier>) {
    guard let delegate, let controller else { return }
    let snapshot = NSDiffableDataSourceSnapshotReference()
    for section in rows.sections {
      snapshot.appendSections(withIdentifiers: [section.name])
      let objects = section.rows.compactMap { $0 as? NSManagedObject }
      snapshot.appendItems(withIdentifiers: objects.map(\.objectID), intoSectionWithIdentifier: section.name)
      let reloaded = objects.filter { changed.contains(ObjectIdentifier($0)) }
      if !reloaded.isEmpty { snapshot.reloadItems(withIdentifiers: reloaded.map(\.objectID)) }
    }
    snapshotWasIgnored = false
    delegate.controller(controller, didChangeContentWith: snapshot)
    takesSnapshots = (ObjectIdentifier(Swift.type(of: delegate)), !snapshotWasIgnored)
  }
}
