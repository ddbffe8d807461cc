extension StoreSchema {
  /// The triggers that keep derived attributes.
  ///
  /// Apple's triggers of the same names also call a function of Apple's framework, so plain SQLite cannot insert into
  /// such a table. Those of counts and copies here do not, and the values are right no matter which program writes.
  /// Derivations of other forms than `Derivation` knows have no trigger.
  var derivedAttributeStatements: [String] { derivedColumns.flatMap(\.triggers) }

  /// The statements that compute derived attributes of all rows.
  var derivedAttributeFills: [String] { derivedColumns.compactMap(\.fill) }
}

/// The triggers of one column in a SQLite file.
extension DerivedColumn {
  fileprivate var triggers: [String] {
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
  fileprivate var fill: String? {
    let value: String?
    switch derivation {
    case .now: value = Self.now
    case .copy(nil, let attribute, let functions):
      value = mapping.attributes[attribute].map { Self.calling(functions, $0.column) }
    case .copy(let relationship?, let attribute, let functions):
      value = source(relationship, attribute).map {
        Self.calling(
          functions,
          "(SELECT \($0.attribute.column) FROM \($0.table) AS s WHERE s.Z_PK = \(mapping.table).\($0.key))")
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
    let (column, key) = (source.attribute.column, source.key)
    let value = calling("(SELECT s.\(column) FROM \(source.table) AS s WHERE s.Z_PK = NEW.\(key))")
    return [
      trigger("SOURCE_INSERT", "INSERT", on: table, set: value, where: "Z_PK = NEW.Z_PK"),
      trigger("SOURCE_UPDATE", "UPDATE OF \(key)", on: table, set: value, where: "Z_PK = NEW.Z_PK"),
      // A new row at the other end may come after those that refer to it.
      trigger(
        "PARAMETER_INSERT", "INSERT", on: source.table, set: calling("NEW.\(column)"), where: "\(key) = NEW.Z_PK"),
      trigger(
        "PARAMETER_UPDATE", "UPDATE OF \(column)", on: source.table, set: calling("NEW.\(column)"),
        where: "\(key) = NEW.Z_PK"),
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
    let columns = [members.owner] + [members.member ?? members.attribute?.column].compactMap(\.self)
    let update = "UPDATE OF \(columns.joined(separator: ", "))"
    var triggers = [
      changing("PARAMETER_INSERT", "INSERT", "NEW"), changing("PARAMETER_UPDATE_INCREMENT", update, "NEW"),
      changing("PARAMETER_UPDATE_DECREMENT", update, "OLD"), changing("PARAMETER_DELETE", "DELETE", "OLD"),
      trigger("SOURCE_INSERT", "INSERT", on: mapping.table, set: set("NEW.Z_PK"), where: "Z_PK = NEW.Z_PK"),
    ]
    if let member = members.member, let column = members.attribute?.column {
      triggers.append(
        trigger(
          "MEMBER_UPDATE", "UPDATE OF \(column)", on: members.table, set: set("\(mapping.table).Z_PK"),
          where: "Z_PK IN (SELECT \(members.owner) FROM \(members.links) WHERE \(member) = NEW.Z_PK)"))
    }
    return triggers
  }
}

extension DerivedColumn.Members {
  /// The aggregate of an owner's members.
  fileprivate func value(_ aggregate: Derivation.Aggregate, of owner: String) -> String {
    let value = aggregate.sql(attribute.map { "m.\($0.column)" })
    guard let member else { return "(SELECT \(value) FROM \(table) AS m WHERE m.\(self.owner) = \(owner))" }
    guard attribute != nil else { return "(SELECT \(value) FROM \(links) AS l WHERE l.\(self.owner) = \(owner))" }
    return "(SELECT \(value) FROM \(links) AS l JOIN \(table) AS m ON m.Z_PK = l.\(member) "
      + "WHERE l.\(self.owner) = \(owner))"
  }
}

extension SQLFunction {
  /// The functions that the triggers in Apple's files call to report their changes to Apple's framework. Here they do
  /// nothing, and the triggers do their work.
  static let derivedAttributeCallbacks = [
    "NSCoreDataDATriggerUpdatedAffectedObjectValue", "NSCoreDataDATriggerInsertUpdatedAffectedObjectValue",
  ].map { SQLFunction(name: $0, argumentCount: 5) { _ in .null } }
}
