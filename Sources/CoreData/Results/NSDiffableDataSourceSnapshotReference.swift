/// Identifiers of sections and items in order: what a table shows at one moment.
///
/// A fetched results controller gives one to a delegate that implements
/// `controller(_:didChangeContentWith:)` for snapshots: the sections' names, which are `String`s, and the objects' IDs,
/// which are `NSManagedObjectID`s. Linux has no table views; a program that draws its own compares two snapshots, or
/// shows the last one. Apple's class of this name belongs to UIKit and AppKit.
///
/// An identifier occurs once: adding it again traps, and so does a method about the items of an unknown section.
/// Deletions ignore unknown identifiers, and positions of unknown ones are `NSNotFound`.
///
/// ```swift
/// let snapshot = NSDiffableDataSourceSnapshotReference()
/// snapshot.appendSections(withIdentifiers: ["Austen"])
/// snapshot.appendItems(withIdentifiers: [book.objectID])
/// print(snapshot.numberOfItems, snapshot.index(ofItemIdentifier: book.objectID))  // 1 0
/// ```
///
/// Finding a section searches the sections, finding an item's position searches the items. Use it on one thread at a
/// time.
///
/// Source: Apple's documentation of `NSDiffableDataSourceSnapshotReference` in UIKit.
open class NSDiffableDataSourceSnapshotReference: NSObject, NSCopying {
  private var sections: [(identifier: AnyHashable, items: [AnyHashable])] = []
  /// Also the test that an item occurs once. O(1).
  private var sectionOfItem: [AnyHashable: AnyHashable] = [:]
  private var reloadedSections: [AnyHashable] = []
  private var reloadedItems: [AnyHashable] = []

  /// A snapshot without sections.
  ///
  /// Add sections first: items without one trap.
  public override init() { super.init() }

  // MARK: Content

  /// How many items there are in all sections together.
  ///
  /// O(1).
  open var numberOfItems: Int { sectionOfItem.count }
  /// The number of sections, empty ones included.
  open var numberOfSections: Int { sections.count }
  /// The identifiers of the sections, in order, empty sections included.
  ///
  /// A controller without a section key path has one section, named "".
  ///
  /// Source: Apple's documentation of `sectionIdentifiers`.
  open var sectionIdentifiers: [Any] { sections.map(\.identifier.base) }
  /// The items of all sections in order.
  ///
  /// ```swift
  /// let snapshot = NSDiffableDataSourceSnapshotReference()
  /// snapshot.appendSections(withIdentifiers: [""])
  /// snapshot.appendItems(withIdentifiers: [book.objectID])
  /// for case let id as NSManagedObjectID in snapshot.itemIdentifiers { print(context.object(with: id)) }
  /// ```
  ///
  /// O(n). Source: Apple's documentation of `itemIdentifiers`.
  open var itemIdentifiers: [Any] { sections.flatMap { $0.items.map(\.base) } }
  /// The items whose content changed although they may be at the same place.
  ///
  /// A controller lists the objects whose values changed: show them again. Items that a program reloads are here in the
  /// order of its calls.
  open var reloadedItemIdentifiers: [Any] { reloadedItems.map(\.base) }
  /// The sections whose content changed although they may be at the same place.
  ///
  /// A controller lists none.
  open var reloadedSectionIdentifiers: [Any] { reloadedSections.map(\.base) }

  /// How many items a section has.
  ///
  /// Traps for a section that the snapshot does not have.
  open func numberOfItems(inSection sectionIdentifier: Any) -> Int { sections[place(sectionIdentifier)].items.count }

  /// The identifiers of the items of one section, in order.
  ///
  /// Traps for a section that the snapshot does not have. O(items of the section).
  open func itemIdentifiersInSection(withIdentifier sectionIdentifier: Any) -> [Any] {
    sections[place(sectionIdentifier)].items.map(\.base)
  }

  /// The section of an item; nil if the snapshot does not have the item.
  ///
  /// O(1).
  open func sectionIdentifier(forSectionContainingItemIdentifier itemIdentifier: Any) -> Any? {
    sectionOfItem[key(itemIdentifier)]?.base
  }

  /// The position of an item among all items; `NSNotFound` if the snapshot does not have it.
  ///
  /// It searches the items from the beginning, O(n): for many items make a dictionary of `itemIdentifiers` once.
  open func index(ofItemIdentifier itemIdentifier: Any) -> Int {
    let item = key(itemIdentifier)
    return sections.lazy.flatMap(\.items).enumerated().first { $0.element == item }?.offset ?? NSNotFound
  }

  /// The position of a section; `NSNotFound` if the snapshot does not have it.
  ///
  /// O(sections).
  open func index(ofSectionIdentifier sectionIdentifier: Any) -> Int {
    let section = key(sectionIdentifier)
    return sections.firstIndex { $0.identifier == section } ?? NSNotFound
  }

  // MARK: Changes

  /// Adds sections without items at the end.
  ///
  /// - Parameter sectionIdentifiers: hashable values; others trap. One that the snapshot has traps.
  open func appendSections(withIdentifiers sectionIdentifiers: [Any]) {
    for identifier in sectionIdentifiers {
      require(index(ofSectionIdentifier: identifier) == NSNotFound, "The snapshot has the section \(identifier).")
      sections.append((key(identifier), []))
    }
  }

  /// Adds items at the end of the last section.
  ///
  /// - Parameter identifiers: hashable values, each new to the whole snapshot; others trap.
  open func appendItems(withIdentifiers identifiers: [Any]) {
    require(!sections.isEmpty, "A snapshot needs a section before items can be added.")
    append(identifiers, at: sections.count - 1)
  }

  /// Adds items at the end of a section.
  ///
  /// - Parameters:
  ///   - identifiers: hashable values, each new to the whole snapshot; others trap.
  ///   - sectionIdentifier: a section of the snapshot; traps for another.
  open func appendItems(withIdentifiers identifiers: [Any], intoSectionWithIdentifier sectionIdentifier: Any) {
    append(identifiers, at: place(sectionIdentifier))
  }

  private func append(_ identifiers: [Any], at place: Int) {
    for identifier in identifiers {
      let item = key(identifier)
      require(sectionOfItem[item] == nil, "The snapshot has the item \(identifier).")
      sectionOfItem[item] = sections[place].identifier
      sections[place].items.append(item)
    }
  }

  /// Removes items; unknown ones are ignored.
  ///
  /// Their section stays, even if it is empty then. They leave `reloadedItemIdentifiers`. O(n).
  open func deleteItems(withIdentifiers identifiers: [Any]) {
    let leaving = Set(identifiers.map(key))
    for place in sections.indices { sections[place].items.removeAll(where: leaving.contains) }
    for item in leaving { sectionOfItem[item] = nil }
    keepPresentReloads()
  }

  /// Removes sections with their items; unknown ones are ignored.
  ///
  /// Items of a deleted section may be added to another one afterwards. Deleted items and sections leave the lists of
  /// reloaded ones.
  open func deleteSections(withIdentifiers sectionIdentifiers: [Any]) {
    let leaving = Set(sectionIdentifiers.map(key))
    for section in sections where leaving.contains(section.identifier) {
      for item in section.items { sectionOfItem[item] = nil }
    }
    sections.removeAll { leaving.contains($0.identifier) }
    keepPresentReloads()
  }

  /// Removes all sections with their items, and empties the lists of reloaded ones.
  open func deleteAllItems() {
    sections = []
    sectionOfItem = [:]
    keepPresentReloads()
  }

  /// The code that shows the snapshot looks up what was reloaded, so deleted items and sections must not be listed.
  private func keepPresentReloads() {
    reloadedItems.removeAll { sectionOfItem[$0] == nil }
    if reloadedSections.isEmpty { return }
    let present = Set(sections.map(\.identifier))
    reloadedSections.removeAll { !present.contains($0) }
  }

  /// Adds items to `reloadedItemIdentifiers`, for the code that shows the snapshot.
  ///
  /// It does not check that the snapshot has them.
  open func reloadItems(withIdentifiers identifiers: [Any]) { reloadedItems += identifiers.map(key) }

  /// Adds sections to `reloadedSectionIdentifiers`, for the code that shows the snapshot.
  ///
  /// It does not check that the snapshot has them.
  open func reloadSections(withIdentifiers sectionIdentifiers: [Any]) {
    reloadedSections += sectionIdentifiers.map(key)
  }

  /// A copy that can be changed without changing this snapshot.
  ///
  /// O(1) until one of the two changes.
  open func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSDiffableDataSourceSnapshotReference()
    copy.sections = sections
    copy.sectionOfItem = sectionOfItem
    copy.reloadedItems = reloadedItems
    copy.reloadedSections = reloadedSections
    return copy
  }

  /// Apple's identifiers are Objective-C objects, which are all hashable; a value in Swift's `Any` need not be.
  private func key(_ identifier: Any) -> AnyHashable {
    guard let key = identifier as? AnyHashable else {
      fatalError("\(identifier) cannot identify a section or an item of a snapshot: it is not hashable.")
    }
    return key
  }

  private func place(_ sectionIdentifier: Any) -> Int {
    let position = index(ofSectionIdentifier: sectionIdentifier)
    require(position != NSNotFound, "The snapshot has no section \(sectionIdentifier).")
    return position
  }
}
