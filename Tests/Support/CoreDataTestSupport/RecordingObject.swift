import CoreData

/// A book that records its callbacks, and runs the test's code in them.
package final class RecordingBook: NSManagedObject {
  package var calls: [String] = []
  package var snapshotEvents: [NSSnapshotEventType] = []
  package var onWillSave: ((RecordingBook) -> Void)?
  package var onPrepareForDeletion: ((RecordingBook) -> Void)?
  package var onValidate: ((RecordingBook) throws -> Void)?

  package override func awakeFromInsert() {
    super.awakeFromInsert()
    calls.append("awakeFromInsert")
    setPrimitiveValue("set when inserted", forKey: "note")
  }

  package override func awakeFromFetch() {
    super.awakeFromFetch()
    calls.append("awakeFromFetch")
    setValue("set when fetched", forKey: "note")
  }

  package override func awakeFromSnapshotEvents(_ flags: NSSnapshotEventType) {
    super.awakeFromSnapshotEvents(flags)
    snapshotEvents.append(flags)
  }

  package override func willSave() {
    super.willSave()
    calls.append("willSave")
    onWillSave?(self)
  }

  package override func didSave() {
    super.didSave()
    calls.append("didSave")
  }

  package override func prepareForDeletion() {
    super.prepareForDeletion()
    calls.append("prepareForDeletion")
    onPrepareForDeletion?(self)
  }

  package override func willTurnIntoFault() {
    super.willTurnIntoFault()
    calls.append("willTurnIntoFault")
  }

  package override func didTurnIntoFault() {
    super.didTurnIntoFault()
    calls.append("didTurnIntoFault")
  }

  package override func validateForInsert() throws {
    try super.validateForInsert()
    calls.append("validateForInsert")
    try onValidate?(self)
  }

  package override func validateForUpdate() throws {
    try super.validateForUpdate()
    calls.append("validateForUpdate")
    try onValidate?(self)
  }

  package override func validateForDelete() throws {
    try super.validateForDelete()
    calls.append("validateForDelete")
  }
}

/// An author whose own initialiser sets values, as apps write them.
package final class NamedAuthor: NSManagedObject {
  package override init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
    super.init(entity: entity, insertInto: context)
    if context != nil { setValue("named at birth", forKey: "name") } else { setValue("unborn", forKey: "name") }
  }
}

extension LibraryModel {
  /// The model with classes of its own for books and authors.
  package static func makeWithClasses() -> NSManagedObjectModel {
    let model = make()
    model.entitiesByName["Book"]?.managedObjectClassName = NSStringFromClass(RecordingBook.self)
    model.entitiesByName["Author"]?.managedObjectClassName = NSStringFromClass(NamedAuthor.self)
    return model
  }
}

extension NSManagedObject {
  /// The value of a text attribute.
  package func text(_ key: String) -> String? { value(forKey: key) as? String }

  /// The members of a to-many relationship.
  package func members(_ key: String) -> Set<NSManagedObject> { value(forKey: key) as? Set<NSManagedObject> ?? [] }

  /// The object at the other end of a to-one relationship.
  package func object(_ key: String) -> NSManagedObject? { value(forKey: key) as? NSManagedObject }
}

extension TemporaryStore {
  /// The rows that plain SQLite reads, each column as text.
  package func sql(_ query: String) throws -> [[String?]] { try StoreFixtures.rows(query, inFile: url) }
}

/// The notifications of a context, in order.
package final class NotificationLog {
  package private(set) var posted: [(name: Notification.Name, info: [AnyHashable: Any])] = []
  private var tokens: [any NSObjectProtocol] = []

  /// `@unchecked Sendable`: notifications are posted and read on the one thread of a test.
  private struct Box: @unchecked Sendable { weak var log: NotificationLog? }

  package init(_ context: NSManagedObjectContext) {
    let box = Box(log: self)
    for name: Notification.Name in [
      .NSManagedObjectContextObjectsDidChange, .NSManagedObjectContextWillSave, .NSManagedObjectContextDidSave,
      .NSManagedObjectContextDidSaveObjectIDs, .NSManagedObjectContextDidMergeChangesObjectIDs,
    ] {
      tokens.append(
        NotificationCenter.default.addObserver(forName: name, object: context, queue: nil) { notification in
          box.log?.posted.append((notification.name, notification.userInfo ?? [:]))
        })
    }
  }

  deinit { for token in tokens { NotificationCenter.default.removeObserver(token) } }

  package var names: [Notification.Name] { posted.map(\.name) }

  /// The user info of the last notification of the name.
  package func last(_ name: Notification.Name) -> [AnyHashable: Any]? { posted.last { $0.name == name }?.info }

  package func objects(_ name: Notification.Name, _ key: String) -> Set<NSManagedObject> {
    last(name)?[key] as? Set<NSManagedObject> ?? []
  }

  package func clear() { posted.removeAll() }
}
