import CoreData
import Foundation

/// A coordinator on a file in a temporary folder, which the stack that created it removes.
final class Stack {
  let folder: URL
  let coordinator: NSPersistentStoreCoordinator
  private let ownsFolder: Bool
  var path: String { folder.appendingPathComponent("store.sqlite").path }

  convenience init() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("benchmark-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try self.init(folder, ownsFolder: true)
  }

  /// A second coordinator on another stack's file.
  convenience init(at folder: URL, options: [AnyHashable: Any]? = nil) throws {
    try self.init(folder, ownsFolder: false, options: options)
  }

  private init(_ folder: URL, ownsFolder: Bool, options: [AnyHashable: Any]? = nil) throws {
    self.folder = folder
    self.ownsFolder = ownsFolder
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: PersonModel.make())
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: folder.appendingPathComponent("store.sqlite"),
      options: options)
  }

  deinit {
    if ownsFolder { try? FileManager.default.removeItem(at: folder) }
  }

  func context() -> NSManagedObjectContext {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return context
  }

  /// A stack whose file holds people, distributed over teams if there are any.
  static func filled(_ rows: Int, teams: Int = 0) throws -> Stack {
    let stack = try Stack()
    let context = stack.context()
    try context.performAndWait {
      let all = (0..<teams).map { index in
        let team = Team(context: context)
        team.name = "Team \(index)"
        return team
      }
      for index in 0..<rows {
        let values = PersonValues(index)
        let person = Person(context: context)
        person.name = values.name
        person.age = values.age
        person.score = values.score
        person.joined = Date(timeIntervalSinceReferenceDate: values.joined)
        person.email = values.email
        if teams > 0 { person.team = all[index % teams] }
      }
      try context.save()
    }
    return stack
  }
}
