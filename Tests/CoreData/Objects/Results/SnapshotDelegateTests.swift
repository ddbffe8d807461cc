import CoreData
import Testing

/// Delegates that take snapshots instead of single changes.
@Suite struct SnapshotDelegateTests {
  private final class Screen: NSObject, NSFetchedResultsControllerDelegate {
    var snapshots: [NSDiffableDataSourceSnapshotReference] = []
    var otherCalls = 0

    func controller(
      _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
      didChangeContentWith snapshot: NSDiffableDataSourceSnapshotReference
    ) {
      snapshots.append(snapshot)
    }

    func controllerWillChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>) {
      otherCalls += 1
    }
  }

  @Test func aDelegateGetsTheWholeContentAfterAFetchAndEachChange() throws {
    let store = try TemporaryStore()
    try store.read { context in
      let books = [("a", 1), ("b", 1), ("c", 2)].map { context.make("Book", ["title": $0.0, "pages": $0.1]) }
      try context.save()
      let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
      request.sortDescriptors = ["pages", "title"].map { NSSortDescriptor(key: $0, ascending: true) }
      let controller = NSFetchedResultsController(
        fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "pages", cacheName: nil)
      let screen = Screen()
      controller.delegate = screen
      try controller.performFetch()
      let first = try #require(screen.snapshots.first)
      #expect(screen.snapshots.count == 1 && first.numberOfSections == 2 && first.numberOfItems == 3)
      #expect(first.sectionIdentifiers as? [String] == ["1", "2"])
      #expect(first.itemIdentifiers as? [NSManagedObjectID] == books.map(\.objectID))
      books[0].setValue(2, forKey: "pages")
      context.processPendingChanges()
      let second = try #require(screen.snapshots.last)
      #expect(screen.snapshots.count == 2 && screen.otherCalls == 0)
      #expect(second.itemIdentifiersInSection(withIdentifier: "1") as? [NSManagedObjectID] == [books[1].objectID])
      #expect(
        second.itemIdentifiersInSection(withIdentifier: "2") as? [NSManagedObjectID]
          == [books[0].objectID, books[2].objectID])
      #expect(second.reloadedItemIdentifiers as? [NSManagedObjectID] == [books[0].objectID])
      context.delete(books[1])
      context.processPendingChanges()
      #expect(screen.snapshots.last?.sectionIdentifiers as? [String] == ["2"])
      // A snapshot stays as it was.
      #expect(first.numberOfItems == 3)
    }
  }

  @Test func whatIsDeletedIsNotReloaded() {
    let snapshot = NSDiffableDataSourceSnapshotReference()
    for (section, items) in [("first", [1, 2]), ("second", [3]), ("third", [4])] {
      snapshot.appendSections(withIdentifiers: [section])
      snapshot.appendItems(withIdentifiers: items)
    }
    snapshot.reloadItems(withIdentifiers: [1, 2, 3, 4])
    snapshot.reloadSections(withIdentifiers: ["first", "second"])
    snapshot.deleteItems(withIdentifiers: [2])
    #expect(snapshot.reloadedItemIdentifiers as? [Int] == [1, 3, 4])
    snapshot.deleteSections(withIdentifiers: ["second"])
    #expect(snapshot.reloadedItemIdentifiers as? [Int] == [1, 4])
    #expect(snapshot.reloadedSectionIdentifiers as? [String] == ["first"])
    snapshot.deleteAllItems()
    #expect(snapshot.reloadedItemIdentifiers.isEmpty && snapshot.reloadedSectionIdentifiers.isEmpty)
  }

  @Test func aSnapshotIsChangedByItsIdentifiers() throws {
    let snapshot = NSDiffableDataSourceSnapshotReference()
    snapshot.appendSections(withIdentifiers: ["first", "second"])
    snapshot.appendItems(withIdentifiers: [1, 2], intoSectionWithIdentifier: "first")
    snapshot.appendItems(withIdentifiers: [3])
    let copy = try #require(snapshot.copy() as? NSDiffableDataSourceSnapshotReference)
    snapshot.deleteItems(withIdentifiers: [2, 7])
    #expect(snapshot.itemIdentifiers as? [Int] == [1, 3] && copy.itemIdentifiers as? [Int] == [1, 2, 3])
    #expect(snapshot.index(ofItemIdentifier: 3) == 1 && snapshot.index(ofItemIdentifier: 2) == NSNotFound)
    #expect(snapshot.index(ofSectionIdentifier: "second") == 1)
    #expect(snapshot.sectionIdentifier(forSectionContainingItemIdentifier: 3) as? String == "second")
    snapshot.deleteSections(withIdentifiers: ["second"])
    #expect(snapshot.numberOfItems == 1 && snapshot.numberOfItems(inSection: "first") == 1)
    snapshot.deleteAllItems()
    #expect(snapshot.numberOfSections == 0)
  }
}
