import CoreData

/// The pool's own entities, and how they join an app's model.
///
/// They live in a store of their own in the app's SQLite file, under the table prefix ``tablePrefix``, so that the app's
/// schema and metadata stay as they are. An app that wants to enqueue jobs in its own saves uses ``merged(with:)`` as its
/// coordinator's model and adds that store, as ``JobStore`` does.
public enum JobModel {
  /// The configuration that holds the app's entities in a merged model.
  public static let appConfiguration = "App"
  /// The configuration that holds the pool's entities in a merged model.
  public static let poolConfiguration = "Pool"
  /// What the names of the pool's tables and columns begin with.
  public static let tablePrefix = "WP"

  /// A new model of the pool's entities alone.
  public static func make() -> NSManagedObjectModel {
    let model = NSManagedObjectModel()
    model.entities = [
      jobEntity(), fileEntity(), settingEntity(), waitEntity(), periodicEntity(), submissionEntity(),
    ]
    model.setEntities(model.entities, forConfigurationName: poolConfiguration)
    return model
  }

  /// A new model of the app's entities and the pool's, with a configuration for each store.
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

/// Why an app's model cannot be used by the pool.
public enum JobModelError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The app's model has an entity with the name of one of the pool's.
  case entityExists(String)
  /// The app's model has no such configuration.
  case noConfiguration(String, known: [String])

  public var description: String {
    switch self {
    case .entityExists(let name): "the model has an entity \(name), a name that the pool needs for itself"
    case .noConfiguration(let name, let known):
      "the model has no configuration \(name); it has \(known.sorted().joined(separator: ", "))"
    }
  }
}

// MARK: - Entities

extension JobModel {
  private static func jobEntity() -> NSEntityDescription {
    let kind = attribute("kind", .stringAttributeType)
    let state = attribute("state", .integer16AttributeType, default: JobState.available.rawValue)
    let priority = attribute("priority", .integer16AttributeType, default: Int16(0))
    let runAt = optional("runAt", .dateAttributeType)
    let queue = attribute("queue", .stringAttributeType, default: JobRequest.defaultQueue)
    let batch = optional("batch", .stringAttributeType)
    let limitKey = optional("limitKey", .stringAttributeType)
    let finishedAt = optional("finishedAt", .dateAttributeType)
    let job = entity(Job.entityName, Job.self)
    job.properties = [
      kind,
      queue, state, priority, runAt,
      optional("uniqueKey", .stringAttributeType),
      optional("objects", .stringAttributeType),
      optional("parameters", .stringAttributeType),
      optional("maxAttempts", .integer16AttributeType),
      optional("timeout", .doubleAttributeType),
      attribute("attempt", .integer16AttributeType, default: Int16(0)),
      attribute("crashes", .integer16AttributeType, default: Int16(0)),
      attribute("progressDone", .integer64AttributeType, default: Int64(0)),
      attribute("progressTotal", .integer64AttributeType, default: Int64(0)),
      optional("checkpoint", .binaryDataAttributeType),
      optional("results", .stringAttributeType),
      optional("errors", .stringAttributeType),
      attribute("createdAt", .dateAttributeType),
      optional("startedAt", .dateAttributeType),
      finishedAt,
      // Added after the first version: optional and without a default, so that older stores can be extended.
      optional("activeKey", .stringAttributeType), batch, limitKey,
      optional("options", .stringAttributeType),
      optional("output", .stringAttributeType),
    ]
    job.indexes = jobIndexes(
      state: state, kind: kind, queue: queue, priority: priority, limitKey: limitKey, runAt: runAt,
      finishedAt: finishedAt, batch: batch)
    // Nobody can have a key that a job has: not intake, no worker and no app, whoever is first.
    job.uniquenessConstraints = [["activeKey"]]
    return job
  }

  /// The indexes of jobs. Each holds only the jobs that somebody looks for in it: a job without a batch costs nothing in the index of
  /// batches, and a finished one leaves the indexes of unfinished jobs.
  ///
  /// - `ready`: the jobs of a kind to run next, whatever their queue: the highest priority first, then by key, which every SQLite
  ///   index holds as its last element (https://www.sqlite.org/queryplanner.html, "Sorting").
  /// - `queues`: the same in one queue; and the backlog by kind and queue.
  /// - `keys`: the same of one limit key.
  /// - `finished`: the oldest finished jobs of a state.
  private static func jobIndexes(
    state: NSAttributeDescription, kind: NSAttributeDescription, queue: NSAttributeDescription,
    priority: NSAttributeDescription, limitKey: NSAttributeDescription, runAt: NSAttributeDescription,
    finishedAt: NSAttributeDescription, batch: NSAttributeDescription
  ) -> [NSFetchIndexDescription] {
    [
      index("ready", [(state, true), (kind, true), (priority, false)], where: "finishedAt == nil"),
      index("queues", [(state, true), (kind, true), (queue, true), (priority, false)], where: "finishedAt == nil"),
      index(
        "keys", [(limitKey, true), (state, true), (kind, true), (priority, false)],
        where: "finishedAt == nil AND limitKey != nil"),
      index("finished", [(state, true), (finishedAt, true)], where: "finishedAt != nil"),
      index("due", [(runAt, true)], where: "runAt != nil"),
      index("batch", [(batch, true)], where: "batch != nil"),
    ]
  }

  private static func fileEntity() -> NSEntityDescription {
    let file = entity(TakenFile.entityName, TakenFile.self)
    file.properties = [
      attribute("name", .stringAttributeType),
      // Only in rows of earlier versions: they are read once, at the first start after an update.
      optional("device", .integer64AttributeType),
      optional("inode", .integer64AttributeType),
      optional("modified", .integer64AttributeType),
      optional("size", .integer64AttributeType),
    ]
    return file
  }

  private static func settingEntity() -> NSEntityDescription {
    let setting = entity(PoolSetting.entityName, PoolSetting.self)
    setting.properties = [attribute("name", .stringAttributeType), optional("value", .stringAttributeType)]
    setting.uniquenessConstraints = [["name"]]
    return setting
  }

  private static func waitEntity() -> NSEntityDescription {
    let blocker = attribute("blocker", .integer64AttributeType)
    let wait = entity(JobWait.entityName, JobWait.self)
    wait.properties = [attribute("job", .integer64AttributeType), blocker]
    wait.indexes = [index("blocker", [(blocker, true)])]
    return wait
  }

  private static func periodicEntity() -> NSEntityDescription {
    let periodic = entity(PeriodicMark.entityName, PeriodicMark.self)
    periodic.properties = [
      attribute("name", .stringAttributeType), attribute("definition", .stringAttributeType),
      attribute("last", .dateAttributeType),
    ]
    periodic.uniquenessConstraints = [["name"]]
    return periodic
  }

  private static func submissionEntity() -> NSEntityDescription {
    let submission = entity(PoolSubmission.entityName, PoolSubmission.self)
    submission.properties = [
      attribute("token", .stringAttributeType), attribute("jobs", .stringAttributeType),
      attribute("createdAt", .dateAttributeType),
    ]
    // Two files with one token that are taken at a time: one of them fails, is tried again, and finds the other's note.
    submission.uniquenessConstraints = [["token"]]
    return submission
  }

  private static func entity(_ name: String, _ type: NSManagedObject.Type) -> NSEntityDescription {
    let entity = NSEntityDescription()
    entity.name = name
    entity.managedObjectClassName = NSStringFromClass(type)
    return entity
  }

  private static func attribute(
    _ name: String, _ type: NSAttributeType, default value: Any? = nil
  ) -> NSAttributeDescription {
    let attribute = optional(name, type)
    attribute.isOptional = false
    attribute.defaultValue = value
    return attribute
  }

  private static func optional(_ name: String, _ type: NSAttributeType) -> NSAttributeDescription {
    let attribute = NSAttributeDescription()
    attribute.name = name
    attribute.attributeType = type
    return attribute
  }

  private static func index(
    _ name: String, _ properties: [(property: NSAttributeDescription, isAscending: Bool)],
    where condition: String? = nil
  ) -> NSFetchIndexDescription {
    let elements = properties.map { property, isAscending in
      let element = NSFetchIndexElementDescription(property: property, collationType: .binary)
      element.isAscending = isAscending
      return element
    }
    let index = NSFetchIndexDescription(name: name, elements: elements)
    index.partialIndexPredicate = condition.map { NSPredicate(format: $0) }
    return index
  }
}
