/// Gives delegates whole snapshots, if they take them.
extension FetchedResults {
  /// Whether the delegate takes snapshots. It is found out by giving the first delegate of each type the current
  /// snapshot.
  var delegateTakesSnapshots: Bool {
    guard let delegate else { return false }
    let type = ObjectIdentifier(Swift.type(of: delegate))
    if let cached = takesSnapshots, cached.type == type { return cached.answer }
    tellSnapshot(changed: [])
    return takesSnapshots?.answer ?? false
  }

  /// Gives the delegate the rows of a fetch, unless it is known not to take snapshots.
  func tellSnapshotOfFetch() {
    guard let delegate else { return }
    let isIgnored = takesSnapshots.map { $0.type == ObjectIdentifier(Swift.type(of: delegate)) && !$0.answer } ?? false
    if !isIgnored { tellSnapshot(changed: []) }
  }

  /// Gives the delegate the present rows as a snapshot.
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
