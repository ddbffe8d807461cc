extension StoreSchema {
  /// The triggers that keep derived attributes of the form `relationship.@count` over a one-to-many relationship.
  ///
  /// Apple's triggers of the same names also call a function of Apple's framework, so plain SQLite cannot insert into
  /// such a table. These triggers do not, and the counts are right no matter which program writes. Other derivations
  /// have no trigger.
  var derivedAttributeStatements: [String] {
    entities.flatMap { mapping in
      mapping.entity.declaredProperties
        .compactMap { $0 as? NSDerivedAttributeDescription }
        .sorted { $0.name.precedesByBytes($1.name) }
        .flatMap { triggers(for: $0, of: mapping) }
    }
  }

  private func triggers(for attribute: NSDerivedAttributeDescription, of mapping: TableMapping) -> [String] {
    guard let relationship = attribute.countedRelationshipName,
      let column = mapping.attributes[attribute.name]?.column,
      case .foreignKey(_, let members, let inverse)? = mapping.toManys[relationship]
    else { return [] }
    let key = inverse.column
    func trigger(_ source: String, _ event: String, _ when: String, _ row: String?, _ value: String) -> String {
      let condition = row.map { " WHEN (\($0).\(key) NOT NULL)" } ?? ""
      let target = row.map { "\($0).\(key)" } ?? "NEW.Z_PK"
      return """
        CREATE TRIGGER \(prefix)_DA_\(source)_\(mapping.name)_\(attribute.name)_\(event) AFTER \(when) ON \(source) \
        FOR EACH ROW\(condition) BEGIN UPDATE \(mapping.table) SET \(column) = \(value) WHERE Z_PK = \(target); END
        """
    }
    return [
      trigger(members, "PARAMETER_INSERT", "INSERT", "NEW", "IFNULL(\(column), 0) + 1"),
      trigger(members, "PARAMETER_UPDATE_INCREMENT", "UPDATE OF \(key)", "NEW", "\(column) + 1"),
      trigger(members, "PARAMETER_UPDATE_DECREMENT", "UPDATE OF \(key)", "OLD", "\(column) - 1"),
      trigger(members, "PARAMETER_DELETE", "DELETE", "OLD", "\(column) - 1"),
      trigger(
        mapping.table, "SOURCE_INSERT", "INSERT", nil,
        "(SELECT IFNULL(COUNT(\(key)), 0) FROM \(members) WHERE \(key) = NEW.Z_PK)"),
    ]
  }
}

extension NSDerivedAttributeDescription {
  /// The relationship that the derivation `relationship.@count` counts; nil for other derivations.
  fileprivate var countedRelationshipName: String? {
    guard let derivationExpression, derivationExpression.expressionType == .keyPath else { return nil }
    let parts = derivationExpression.keyPath.split(separator: ".")
    return parts.count == 2 && parts[1] == "@count" ? String(parts[0]) : nil
  }
}

extension SQLFunction {
  /// The functions that the triggers in Apple's files call to report their changes to Apple's framework. Here they do
  /// nothing, and the triggers do their work.
  static let derivedAttributeCallbacks = [
    "NSCoreDataDATriggerUpdatedAffectedObjectValue", "NSCoreDataDATriggerInsertUpdatedAffectedObjectValue",
  ].map { SQLFunction(name: $0, argumentCount: 5) { _ in .null } }
}
