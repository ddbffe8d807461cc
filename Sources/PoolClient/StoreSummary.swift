import CoreData
import Jobs

/// What a store holds: how many objects of each entity, and how many jobs in each state.
///
/// ```swift
/// import PoolClient
///
/// let summary = try StoreSummary(store: "app.sqlite", model: nil)
/// for (name, count) in summary.entities { print(name, count) }
/// print(summary.jobs?.map { "\($0.count) \($0.state)" } ?? ["no pool has run here"])
/// ```
///
/// It counts each entity once, which reads an index or the table. It does not tell how the objects are related, and it
/// reads no values.
public struct StoreSummary: Sendable {
  /// The path of the store, as it was given.
  public let store: String
  /// The store's UUID, the host of its objects' URIs.
  public let identifier: String
  /// The entities by name, with the numbers of their own objects, those of subentities left out. No abstract ones.
  public let entities: [(name: String, count: Int)]
  /// The numbers of jobs, for the states that have any; nil if no pool has run on the store.
  public let jobs: [(state: JobState, count: Int)]?

  /// Counts what is in a store. No pool need run, and nothing is written.
  ///
  /// - Parameter modelPath: the model's file; nil for the copy that the store keeps.
  /// - Throws: ``ModelLoaderError``, ``StoreReaderError``, or an `NSError` of Core Data.
  public init(store path: String, model modelPath: String?) throws {
    let reader = try StoreReader(store: path, model: modelPath)
    var entities: [(String, Int)] = []
    var identifier = ""
    try reader.perform { context, _ in
      let coordinator = context.persistentStoreCoordinator
      identifier = coordinator?.persistentStores.first?.identifier ?? ""
      for entity in coordinator?.managedObjectModel.entities ?? [] where !entity.isAbstract {
        let request = NSFetchRequest<NSManagedObject>(entityName: entity.name ?? "")
        request.includesSubentities = false
        entities.append((entity.name ?? "", try context.count(for: request)))
      }
    }
    store = path
    self.identifier = identifier
    self.entities = entities.sorted { $0.0 < $1.0 }
    do {
      jobs = try Self.jobs(StoreReader(poolStore: path))
    } catch StoreReaderError.noJobs {
      jobs = nil
    }
  }

  private static func jobs(_ reader: StoreReader) throws -> [(JobState, Int)] {
    var counts: [(JobState, Int)] = []
    try reader.perform { context, _ in
      for state in JobState.allCases {
        let request = Job.fetchRequest()
        request.predicate = NSPredicate(format: "state == %d", Int(state.rawValue))
        let count = try context.count(for: request)
        if count > 0 { counts.append((state, count)) }
      }
    }
    return counts
  }

  /// The summary as one JSON object.
  public var json: JSONValue {
    .object([
      JSONMember("store", .string(store)), JSONMember("identifier", .string(identifier)),
      JSONMember("entities", .object(entities.map { JSONMember($0.name, .number(String($0.count))) })),
      JSONMember(
        "jobs", jobs.map { .object($0.map { JSONMember("\($0.state)", .number(String($0.count))) }) } ?? .null),
    ])
  }

  /// The summary as lines for people.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// print(try StoreSummary(store: "app.sqlite", model: nil).lines(.file).joined(separator: "\n"))
  /// ```
  public func lines(_ layout: TextLayout) -> [String] {
    var table = TextTable([.text("entity"), .number("objects")])
    for (name, count) in entities { table.add([name, String(count)]) }
    let jobs = jobs.map { counts in
      counts.isEmpty ? "none" : counts.map { "\($0.count) \($0.state)" }.joined(separator: ", ")
    }
    return ["store  \(store)", "UUID   \(identifier)", "jobs   \(jobs ?? "no pool has run on this store yet")", ""]
      + table.lines(layout)
  }
}
