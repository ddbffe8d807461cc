extension StoreSchema {
  /// The triggers that keep derived attributes.
  ///
  /// Apple's triggers of the same names also call a function of Apple's framework, so plain SQLite cannot insert into
  /// such a table. Those of counts and copies here do not, and the values are right no matter which program writes.
  /// Derivations of other forms than `Derivation` knows have no trigger.
  var derivedAttributeStatements: [String] { derivedAttributes.flatMap(\.triggers) }

  /// The statements that compute derived attributes of all rows.
  var derivedAttributeFills: [String] { derivedAttributes.compactMap(\.fill) }

  private var derivedAttributes: [DerivedColumn] {
    entities.flatMap { mapping in
      mapping.entity.declaredProperties
        .compactMap { $0 as? NSDerivedAttributeDescription }
        .sorted { $0.name.precedesByBytes($1.name) }
        .compactMap { DerivedColumn($0, of: mapping, in: self) }
    }
  }
}

/// The column of a derived attribute.
private struct DerivedColumn {
  private let schema: StoreSchema
  private let mapping: TableMapping
  private let name: String
  private let column: String
  private let derivation: Derivation

  init?(_ attribute: NSDerivedAttributeDescription, of mapping: TableMapping, in schema: StoreSchema) {
    guard let column = mapping.attributes[attribute.name]?.column,
      let derivation = Derivation(attribute.derivationExpression)
    else { return nil }
    self.schema = schema
    self.mapping = mapping
    name = attribute.name
    self.column = column
    self.derivation = derivation
  }

  var triggers: [String] {
    switch derivation {
    case .now:
      // Each save raises the version.
      return [
        trigger("SOURCE_INSERT", "INSERT", on: mapping.table, set: Self.now, where: "Z_PK = NEW.Z_PK"),
        trigger("SOURCE_UPDATE", "UPDATE OF Z_OPT", on: mapping.table, set: Self.now, where: "Z_PK = NEW.Z_PK"),
      ]
    case .copy(let relationship, let attribute, let functions):
      return copyTriggers(relationship, attribute) { Self.calling(functions, $0) }
    case .aggregate(.count, let relationship, nil):
      if case .foreignKey(_, let members, let inverse)? = mapping.toManys[relationship] {
        return countTriggers(members, inverse.column)
      }
      return aggregateTriggers(.count, relationship, nil)
    case .aggregate(let aggregate, let relationship, let attribute):
      return aggregateTriggers(aggregate, relationship, attribute)
    }
  }

  /// Computes the column of all rows; nil if nothing is known of them.
  var fill: String? {
    let value: String?
    switch derivation {
    case .now: value = Self.now
    case .copy(nil, let attribute, let functions):
      value = mapping.attributes[attribute].map { Self.calling(functions, $0.column) }
    case .copy(let relationship?, let attribute, let functions):
      value = source(relationship, attribute).map {
        Self.calling(functions, "(SELECT \($0.column) FROM \($0.table) AS s WHERE s.Z_PK = \(mapping.table).\($0.key))")
      }
    case .aggregate(let aggregate, let relationship, let attribute):
      value = members(relationship, attribute).map { $0.value(aggregate, of: "\(mapping.table).Z_PK") }
    }
    return value.map { "UPDATE \(mapping.table) SET \(column) = \($0) WHERE \(ofEntity)" }
  }

  // MARK: Values

  /// Seconds since 2001-01-01 00:00 UTC, Julian day 2451910.5.
  private static let now = "((julianday('now') - 2451910.5) * 86400.0)"

  private static func calling(_ functions: [String], _ value: String) -> String {
    functions.reversed().reduce(value) { "\(SQLFunctions.Name.call.rawValue)('\($1)', 0, \($0))" }
  }

  /// The table holds other entities too.
  private var ofEntity: String {
    "Z_ENT IN (\(mapping.numbersIncludingSubentities.map(String.init).joined(separator: ", ")))"
  }

  private func trigger(
    _ event: String, _ when: String, on table: String, _ condition: String? = nil, set value: String,
    where target: String
  ) -> String {
    """
    CREATE TRIGGER \(schema.prefix)_DA_\(table)_\(mapping.name)_\(name)_\(event) AFTER \(when) ON \(table) \
    FOR EACH ROW\(condition.map { " WHEN (\($0))" } ?? "") BEGIN UPDATE \(mapping.table) SET \(column) = \(value) \
    WHERE \(target)\(mapping.superNumber == 0 ? "" : " AND \(ofEntity)"); END
    """
  }

  // MARK: Copies

  /// The place of an attribute at the end of a to-one relationship: its table and column, and the key that leads there.
  private func source(_ relationship: String, _ attribute: String) -> (table: String, column: String, key: String)? {
    guard let toOne = mapping.toOnes[relationship], let other = schema.entitiesByName[toOne.destinationEntityName],
      let source = other.attributes[attribute]
    else { return nil }
    return (other.table, source.column, toOne.column)
  }

  private func copyTriggers(
    _ relationship: String?, _ attribute: String, _ calling: (String) -> String
  ) -> [String] {
    let table = mapping.table
    guard let relationship else {
      guard let source = mapping.attributes[attribute]?.column else { return [] }
      let value = calling("NEW.\(source)")
      return [
        trigger("SOURCE_INSERT", "INSERT", on: table, set: value, where: "Z_PK = NEW.Z_PK"),
        trigger("SOURCE_UPDATE", "UPDATE OF \(source)", on: table, set: value, where: "Z_PK = NEW.Z_PK"),
      ]
    }
    guard let source = self.source(relationship, attribute) else { return [] }
    let value = calling("(SELECT s.\(source.column) FROM \(source.table) AS s WHERE s.Z_PK = NEW.\(source.key))")
    return [
      trigger("SOURCE_INSERT", "INSERT", on: table, set: value, where: "Z_PK = NEW.Z_PK"),
      trigger("SOURCE_UPDATE", "UPDATE OF \(source.key)", on: table, set: value, where: "Z_PK = NEW.Z_PK"),
      // A new row at the other end may come after those that refer to it.
      trigger(
        "PARAMETER_INSERT", "INSERT", on: source.table, set: calling("NEW.\(source.column)"),
        where: "\(source.key) = NEW.Z_PK"),
      trigger(
        "PARAMETER_UPDATE", "UPDATE OF \(source.column)", on: source.table, set: calling("NEW.\(source.column)"),
        where: "\(source.key) = NEW.Z_PK"),
    ]
  }

  // MARK: Aggregates

  /// Counts members step by step, as Apple's triggers do.
  private func countTriggers(_ members: String, _ key: String) -> [String] {
    [
      trigger(
        "PARAMETER_INSERT", "INSERT", on: members, "NEW.\(key) NOT NULL", set: "IFNULL(\(column), 0) + 1",
        where: "Z_PK = NEW.\(key)"),
      trigger(
        "PARAMETER_UPDATE_INCREMENT", "UPDATE OF \(key)", on: members, "NEW.\(key) NOT NULL", set: "\(column) + 1",
        where: "Z_PK = NEW.\(key)"),
      trigger(
        "PARAMETER_UPDATE_DECREMENT", "UPDATE OF \(key)", on: members, "OLD.\(key) NOT NULL", set: "\(column) - 1",
        where: "Z_PK = OLD.\(key)"),
      trigger(
        "PARAMETER_DELETE", "DELETE", on: members, "OLD.\(key) NOT NULL", set: "\(column) - 1",
        where: "Z_PK = OLD.\(key)"),
      trigger(
        "SOURCE_INSERT", "INSERT", on: mapping.table,
        set: "(SELECT IFNULL(COUNT(\(key)), 0) FROM \(members) WHERE \(key) = NEW.Z_PK)", where: "Z_PK = NEW.Z_PK"),
    ]
  }

  /// Where the members of a to-many relationship are.
  private struct Members {
    /// The table whose rows say which objects are members, and the column of it with the owner's key.
    let links: String
    let owner: String
    /// The table of the members, their attribute's column, and for a join table its column with their keys.
    let table: String
    let column: String?
    let member: String?

    func value(_ aggregate: Aggregate, of owner: String) -> String {
      let value = aggregate.sql(column.map { "m.\($0)" })
      guard let member else { return "(SELECT \(value) FROM \(table) AS m WHERE m.\(self.owner) = \(owner))" }
      guard column != nil else { return "(SELECT \(value) FROM \(links) AS l WHERE l.\(self.owner) = \(owner))" }
      return "(SELECT \(value) FROM \(links) AS l JOIN \(table) AS m ON m.Z_PK = l.\(member) "
        + "WHERE l.\(self.owner) = \(owner))"
    }

    typealias Aggregate = Derivation.Aggregate
  }

  private func members(_ relationship: String, _ attribute: String?) -> Members? {
    func column(_ entity: String) -> (table: String, column: String?)? {
      guard let other = schema.entitiesByName[entity] else { return nil }
      guard let attribute else { return (other.table, nil) }
      return other.attributes[attribute].map { (other.table, $0.column) }
    }
    switch mapping.toManys[relationship] {
    case .foreignKey(let entity, let table, let inverse)?:
      return column(entity).map {
        Members(links: table, owner: inverse.column, table: table, column: $0.column, member: nil)
      }
    case .join(let entity, let table, let owner, let destination, _)?:
      return column(entity).map {
        Members(links: table, owner: owner, table: $0.table, column: $0.column, member: destination)
      }
    case nil: return nil
    }
  }

  private func aggregateTriggers(
    _ aggregate: Derivation.Aggregate, _ relationship: String, _ attribute: String?
  ) -> [String] {
    guard let members = self.members(relationship, attribute) else { return [] }
    func set(_ owner: String) -> String { members.value(aggregate, of: owner) }
    func changing(_ event: String, _ when: String, _ row: String) -> String {
      trigger(
        event, when, on: members.links, "\(row).\(members.owner) NOT NULL", set: set("\(row).\(members.owner)"),
        where: "Z_PK = \(row).\(members.owner)")
    }
    let columns = [members.owner] + (members.member.map { [$0] } ?? members.column.map { [$0] } ?? [])
    let update = "UPDATE OF \(columns.joined(separator: ", "))"
    var triggers = [
      changing("PARAMETER_INSERT", "INSERT", "NEW"), changing("PARAMETER_UPDATE_INCREMENT", update, "NEW"),
      changing("PARAMETER_UPDATE_DECREMENT", update, "OLD"), changing("PARAMETER_DELETE", "DELETE", "OLD"),
      trigger("SOURCE_INSERT", "INSERT", on: mapping.table, set: set("NEW.Z_PK"), where: "Z_PK = NEW.Z_PK"),
    ]
    if let member = members.member, let column = members.column {
      triggers.append(
        trigger(
          "MEMBER_UPDATE", "UPDATE OF \(column)", on: members.table, set: set("\(mapping.table).Z_PK"),
          where: "Z_PK IN (SELECT \(members.owner) FROM \(members.links) WHERE \(member) = NEW.Z_PK)"))
    }
    return triggers
  }
}

extension SQLFunction {
  /// The functions that the triggers in Apple's files call to report their changes to Apple's framework. Here they do
  /// nothing, and the triggers do their work.
  static let derivedAttributeCallbacks = [
    "NSCoreDataDATriggerUpdatedAffectedObjectValue", "NSCoreDataDATriggerInsertUpdatedAffectedObjectValue",
  ].map { SQLFunction(name: $0, argumentCount: 5) { _ in .null } }
}
