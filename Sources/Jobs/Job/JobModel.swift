import CoreData

/// The pool's own entities, and how they join an app's model.
///
/// They live in a store of their own in the app's SQLite file, under the table prefix ``tablePrefix``, so that the
/// app's schema and metadata stay as they are. An app that wants to enqueue jobs in its own saves uses
/// `merged(with:)` as its coordinator's model and adds that store, as ``JobStore`` does.
///
/// ```swift
/// let merged = try JobModel.merged(with: model)
/// print(merged.entities(forConfigurationName: JobModel.poolConfiguration)?.count ?? 0)
/// ```
///
/// Which index answers what. `finished`, `failed` and `batch` grow with the jobs that the store keeps; the others hold
/// unfinished jobs, or those of one condition.
///
/// | index of `PoolJob` | holds | answers |
/// |---|---|---|
/// | ready: state, kind, priority | unfinished jobs | which jobs of a kind run next, in their order |
/// | queues: state, kind, queue, priority | unfinished jobs | the same by queues; the backlog by queue |
/// | keys: limitKey, state, kind, priority | unfinished jobs with a key | the same in one limit key |
/// | finished: state, finishedAt | finished jobs | which jobs ended in a minute; which are old enough to be deleted |
/// | failed: finishedAt | jobs with errors | the groups of failures |
/// | due: runAt | jobs with a time | whose time has come, and when the next one comes |
/// | batch: batch | jobs of batches | whether a batch has jobs, and its youngest unfinished one |
/// | claims: claimant, kind | claimed jobs | what a pool has claimed, at a server |
/// | hostDeaths | jobs whose pool has died | suspects, at a server |
/// | unique: activeKey | jobs with a key; at a server all jobs | whether a unique key is taken |
///
/// A predicate has to name the index's condition (`finishedAt == nil`), or SQLite cannot use it:
/// https://www.sqlite.org/partialindex.html. So predicates of states come from `JobState.predicate`.
public enum JobModel {
  /// The configuration that holds the app's entities in a merged model.
  public static let appConfiguration = "App"
  /// The configuration that holds the pool's entities in a merged model.
  public static let poolConfiguration = "Pool"
  /// The prefix of the names of the pool's tables.
  public static let tablePrefix = "WP"
  /// The version of the pool's tables that this version of workerpool writes. A change of their format gets the next
  /// number, and a test with a store of the version before.
  public static let tablesVersion = 4
  /// The oldest version of the tables that this version of workerpool brings up to date.
  static let oldestTablesVersion = 3

  /// A new model of the pool's entities alone, in the configuration ``poolConfiguration``.
  public static func make() -> NSManagedObjectModel { EmbeddedModel.pool.makeModel() }

  /// A new model of the app's entities and the pool's, with a configuration for each store.
  ///
  /// ```swift
  /// let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try JobModel.merged(with: model))
  /// try coordinator.addPersistentStore(
  ///   ofType: NSSQLiteStoreType, configurationName: JobModel.appConfiguration, at: url, options: nil)
  /// try JobStore.addPoolStore(to: coordinator, at: url)
  /// ```
  ///
  /// The app's model is copied, and stays as it is. Entities of both cannot be related to each other: they are in
  /// different stores, so a job names its objects by URIs.
  ///
  /// - Parameter configuration: the configuration of the app's model that its store has; nil for all its entities.
  /// - Throws: ``JobModelError`` when the app's model has an entity of the pool's name, or lacks the configuration.
  public static func merged(
    with app: NSManagedObjectModel, configuration: String? = nil
  ) throws -> NSManagedObjectModel {
    let pool = make()
    let poolNames = Set(pool.entities.compactMap(\.name))
    if let name = app.entities.compactMap(\.name).first(where: poolNames.contains) {
      throw JobModelError.entityExists(name)
    }
    guard let appEntities = app.entities(forConfigurationName: configuration) else {
      throw JobModelError.noConfiguration(configuration ?? "", known: app.configurations)
    }
    let appNames = Set(appEntities.compactMap(\.name))
    let merged = NSManagedObjectModel()
    // An entity belongs to one model: the app's are copied, the pool's are new ones.
    let copy = app.copy() as? NSManagedObjectModel ?? NSManagedObjectModel()
    let entities = copy.entities + pool.entities
    copy.entities = []
    pool.entities = []
    merged.entities = entities
    merged.setEntities(entities.filter { appNames.contains($0.name ?? "") }, forConfigurationName: appConfiguration)
    merged.setEntities(entities.filter { poolNames.contains($0.name ?? "") }, forConfigurationName: poolConfiguration)
    return merged
  }
}

/// Why the pool cannot use an app's model, or the jobs in a store.
public enum JobModelError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The app's model has an entity with the name of one of the pool's.
  case entityExists(String)
  /// The app's model has no such configuration.
  case noConfiguration(String, known: [String])
  /// A newer version of workerpool has changed the pool's tables in that file.
  case storeIsNewer(String)

  /// The pool's tables in that file are of a version which this one cannot bring up to date.
  case storeIsTooOld(String, version: Int)
  /// Pools that do not understand this version of the pool's tables run on that store.
  case olderPoolsRun(String, version: Int, pools: [String])

  /// A sentence that names the entity or the configuration.
  public var description: String {
    switch self {
    case .entityExists(let name): "the model has an entity \(name), a name that the pool needs for itself"
    case .storeIsNewer(let path):
      "a newer version of workerpool has worked on the jobs in \(path): update this program"
    case .storeIsTooOld(let path, let version):
      "the pool's tables in \(path) are of version \(version), and this version of workerpool upgrades tables of "
        + "version \(JobModel.oldestTablesVersion) or later: run the jobs with the version that wrote them"
    case .olderPoolsRun(let path, let version, let pools):
      "the pool's tables in \(path) are of version \(version), and pools that run there do not understand version "
        + "\(JobModel.tablesVersion): install this version of workerpool on their hosts, and stop them; nothing is "
        + "changed before. They are: \(pools.joined(separator: "; "))"
    case .noConfiguration(let name, let configurations):
      "the model has no configuration \(name); it has \(configurations.sorted().joined(separator: ", "))"
    }
  }
}
