import CoreData
import Testing

/// Shows a controller's results as a table view does: it only applies the delegate's calls.
///
/// Each cell shows a text that was made from its object when it was inserted, moved or updated.
final class TableMirror: NSObject, NSFetchedResultsControllerDelegate {
  struct Cell: Equatable {
    var object: NSManagedObject
    var text: String

    static func == (a: Cell, b: Cell) -> Bool { a.shows(b.object) && a.text == b.text }

    func shows(_ other: NSManagedObject) -> Bool { object === other || object.objectID == other.objectID }
  }

  struct Section {
    var name: String
    var cells: [Cell]
  }

  struct RowChange {
    let type: NSFetchedResultsChangeType
    let object: NSManagedObject
    let from: IndexPath?
    let to: IndexPath?
  }

  struct SectionChange {
    let type: NSFetchedResultsChangeType
    let name: String
    let index: Int
  }

  private(set) var sections: [Section]
  /// All calls since the last `clear()`, by name.
  private(set) var calls: [String] = []
  private(set) var rowChanges: [RowChange] = []
  private(set) var sectionChanges: [SectionChange] = []
  /// The calls that did not fit, in words.
  private(set) var complaints: [String] = []
  private var batchStart = (rows: 0, sections: 0)
  private let text: (NSManagedObject) -> String

  init(_ controller: NSFetchedResultsController<NSManagedObject>, text: @escaping (NSManagedObject) -> String) {
    self.text = text
    sections = TableMirror.shown(by: controller.sections, text)
  }

  func clear() {
    calls = []
    rowChanges = []
    sectionChanges = []
  }

  /// The texts, section by section.
  var texts: [[String]] { sections.map { $0.cells.map(\.text) } }
  var names: [String] { sections.map(\.name) }

  private static func shown(
    by sections: [any NSFetchedResultsSectionInfo]?, _ text: (NSManagedObject) -> String
  ) -> [Section] {
    (sections ?? []).map { section in
      let objects = section.objects as? [NSManagedObject] ?? []
      return Section(name: section.name, cells: objects.map { Cell(object: $0, text: text($0)) })
    }
  }

  // MARK: Delegate

  func controllerWillChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) {
    calls.append("will")
    batchStart = (rowChanges.count, sectionChanges.count)
    let before = TableMirror.shown(by: controller.sections) { _ in "" }
    if before.map(\.name) != names
      || !before.elementsEqual(sections, by: { $0.cells.elementsEqual($1.cells) { $0.shows($1.object) } })
    {
      complaints.append("controllerWillChangeContent: the controller does not show what was")
    }
  }

  func controller(
    _ controller: NSFetchedResultsController<NSFetchRequestResult>, didChange sectionInfo: NSFetchedResultsSectionInfo,
    atSectionIndex sectionIndex: Int, for type: NSFetchedResultsChangeType
  ) {
    calls.append("section")
    sectionChanges.append(SectionChange(type: type, name: sectionInfo.name, index: sectionIndex))
  }

  func controller(
    _ controller: NSFetchedResultsController<NSFetchRequestResult>, didChange anObject: Any, at indexPath: IndexPath?,
    for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
  ) {
    calls.append("\(type)")
    guard let object = anObject as? NSManagedObject else { return complaints.append("no object") }
    if let newIndexPath, controller.object(at: newIndexPath) !== object {
      complaints.append("the controller has another object at \(newIndexPath)")
    }
    rowChanges.append(RowChange(type: type, object: object, from: indexPath, to: newIndexPath))
  }

  func controllerDidChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) {
    calls.append("did")
    apply(Array(rowChanges[batchStart.rows...]), Array(sectionChanges[batchStart.sections...]))
    let now = TableMirror.shown(by: controller.sections, text)
    if now.map(\.name) != names {
      complaints.append("sections: \(names) is not \(now.map(\.name))")
    } else if now.map(\.cells) != sections.map(\.cells) {
      complaints.append("rows: \(texts) is not \(now.map { $0.cells.map(\.text) })")
    }
  }

  /// Applies deletions and old places by the old paths, then sections, then insertions and new places by the new paths,
  /// as table views do.
  private func apply(_ rows: [RowChange], _ sectionChanges: [SectionChange]) {
    var gone: Set<IndexPath> = []
    for change in rows {
      guard let from = change.from else { continue }
      guard sections.indices.contains(from.section), sections[from.section].cells.indices.contains(from.row),
        sections[from.section].cells[from.row].shows(change.object)
      else {
        complaints.append("\(change.type): the object was not at \(from)")
        return
      }
      if change.type == .update {
        sections[from.section].cells[from.row] = Cell(object: change.object, text: text(change.object))
      }
      if change.type != .update, !gone.insert(from).inserted { complaints.append("\(from) leaves twice") }
    }
    var left = sections.enumerated().map { position, section in
      var section = section
      section.cells = section.cells.enumerated().filter { !gone.contains([position, $0.offset]) }.map(\.element)
      return section
    }
    for change in sectionChanges.sorted(by: { $0.index > $1.index }) where change.type == .delete {
      if !left[change.index].cells.isEmpty { complaints.append("a deleted section has rows") }
      if left[change.index].name != change.name { complaints.append("another section was at \(change.index)") }
      left.remove(at: change.index)
    }
    for change in sectionChanges.sorted(by: { $0.index < $1.index }) where change.type == .insert {
      guard change.index <= left.count else { return complaints.append("no place for section \(change.index)") }
      left.insert(Section(name: change.name, cells: []), at: change.index)
    }
    let arriving = rows.filter { $0.type == .insert || $0.type == .move }
    for change in arriving.sorted(by: { $0.to! < $1.to! }) {
      let to = change.to!
      guard left.indices.contains(to.section), left[to.section].cells.count >= to.row else {
        return complaints.append("\(change.type): no place at \(to)")
      }
      left[to.section].cells.insert(Cell(object: change.object, text: text(change.object)), at: to.row)
    }
    sections = left
  }
}
