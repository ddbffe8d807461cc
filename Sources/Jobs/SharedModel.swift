import CoreData

/// What the model of a store at a server has beyond that of a SQLite file: what pools of several hosts need to know of
/// each other. The model of SQLite stores stays as it is.
enum SharedModel {
  /// The entity of what one pool tells another.
  static let notice = "PoolNotice"
  /// The entity of the rows by which pools take turns.
  static let turn = "PoolTurn"

  /// Extends a model of the pool's entities.
  static func extend(_ model: NSManagedObjectModel) {
    model.entities += [
      entity(
        PoolMember.entityName, isAnnounced: true,
        [
          attribute("identity", .integer64AttributeType), attribute("host", .stringAttributeType),
          attribute("pid", .integer64AttributeType), attribute("queue", .stringAttributeType),
          attribute("startedAt", .dateAttributeType), attribute("goneAt", .dateAttributeType, isOptional: true),
        ]),
      entity(
        notice, isAnnounced: true,
        [
          attribute("recipient", .integer64AttributeType), attribute("sender", .integer64AttributeType),
          attribute("ticket", .integer64AttributeType), attribute("isReply", .booleanAttributeType),
          attribute("text", .stringAttributeType),
        ]),
      entity(
        turn, isAnnounced: false,
        [
          attribute("name", .stringAttributeType), attribute("count", .integer64AttributeType),
          attribute("text", .stringAttributeType, isOptional: true),
        ], unique: "name"),
    ]
    if let job = model.entitiesByName[PoolJob.entityName] { extend(job) }
    // A pause that one pool takes over from a person is announced to the others.
    model.entitiesByName[PoolSetting.entityName]?.userInfo?[NSPersistentStoreAnnouncedKey] = ""
  }

  private static func extend(_ job: NSEntityDescription) {
    let hostDeaths = attribute(PoolMember.hostDeaths, .integer16AttributeType)
    hostDeaths.defaultValue = 0
    let claimant = attribute(PoolMember.claimant, .integer64AttributeType, isOptional: true)
    job.properties += [claimant, hostDeaths]
    // The states from which a job may run, now or after something that a pool sees to; and claims that are given back.
    let states: [JobState] = [.available, .scheduled, .retryable, .pending]
    var userInfo = job.userInfo ?? [:]
    userInfo[NSPersistentStoreAnnouncedKey] =
      "state = " + states.map { "\($0.rawValue)" }.joined(separator: " ") + "; \(PoolMember.claimant)"
    job.userInfo = userInfo
    guard let kind = job.propertiesByName["kind"] else { return }
    job.indexes += [
      index("claims", on: kind, where: "finishedAt == nil AND claimant != nil"),
      index("hostDeaths", on: hostDeaths, where: "finishedAt == nil AND hostDeaths > 1"),
    ]
  }

  private static func index(
    _ name: String, on property: NSPropertyDescription, where condition: String
  ) -> NSFetchIndexDescription {
    let element = NSFetchIndexElementDescription(property: property, collationType: .binary)
    let index = NSFetchIndexDescription(name: name, elements: [element])
    index.partialIndexPredicate = NSPredicate(format: condition)
    return index
  }

  private static func entity(
    _ name: String, isAnnounced: Bool, _ properties: [NSAttributeDescription], unique: String? = nil
  ) -> NSEntityDescription {
    let entity = NSEntityDescription()
    entity.name = name
    entity.properties = properties
    if isAnnounced { entity.userInfo = [NSPersistentStoreAnnouncedKey: ""] }
    if let unique { entity.uniquenessConstraints = [[unique]] }
    return entity
  }

  private static func attribute(
    _ name: String, _ type: NSAttributeType, isOptional: Bool = false
  ) -> NSAttributeDescription {
    let attribute = NSAttributeDescription()
    attribute.name = name
    attribute.attributeType = type
    attribute.isOptional = isOptional
    return attribute
  }
}
