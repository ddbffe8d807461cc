/// Dictionary results: columns, aggregates and groups, evaluated on rows in memory: of a store that has them there, or
/// of several stores together.
///
/// The steps of SQL's SELECT, in its order:
///
/// ```text
/// FROM, WHERE     source.rows: the rows of the fetch, without its window
/// GROUP BY        groups(of:): rows with equal values of the grouped properties
/// SELECT          dictionary(_:): a value for each column; an aggregate sees the group's rows
/// HAVING          holds(_:_:_:)
/// ORDER BY        sorted(_:), unless the rows were sorted already
/// DISTINCT        the first of equal dictionaries
/// LIMIT, OFFSET   at the end
/// ```
package struct MemoryDictionaries {
  private let source: any RowSource
  private let settings: FetchSettings
  private let fetch: RowFetch
  private let storedEntity: StoredEntity
  private var columns: [Column] = []
  private let groupNames: [String]

  /// One key of the dictionaries.
  private struct Column {
    let name: String
    /// The path to the value, or an expression, which may apply to all rows of a group.
    let source: Source
    let type: NSAttributeType

    enum Source {
      case path([String])
      case expression(NSExpression)
    }
  }

  package init(_ reader: MemoryReader, _ settings: FetchSettings, _ fetch: RowFetch) throws {
    try self.init(source: reader, settings, fetch)
  }

  init(source: any RowSource, _ settings: FetchSettings, _ fetch: RowFetch) throws {
    self.source = source
    self.settings = settings
    self.fetch = fetch
    storedEntity = try source.schema.entity(named: fetch.entityName).storedEntity
    groupNames = (settings.propertiesToGroupBy ?? []).compactMap(MemoryDictionaries.name)
    columns = try (settings.propertiesToFetch ?? attributeNames).map(column)
  }

  /// The dictionaries of the fetch, in its order and window.
  ///
  /// ```text
  /// propertiesToFetch      author, total = sum:(pages)
  /// propertiesToGroupBy    author
  /// havingPredicate        total > 100
  /// sortDescriptors        total, descending
  ///
  /// rows     Book 1 (author 1, 342), Book 2 (author 1, 184), Book 3 (author 2, 90)
  /// groups   [1, 2], [3]
  /// results  {author: Author/p1, total: 526}, {author: Author/p2, total: 90}
  /// having   {author: Author/p1, total: 526}
  /// ```
  ///
  /// Sorting rows is possible only if the order names properties of rows; `total` is known when the groups are made.
  package func all() throws -> [NSDictionary] {
    var whole = fetch
    (whole.limit, whole.offset) = (0, 0)
    // A descriptor that names a column instead of a property sorts the results.
    let sortsRows = groupNames.isEmpty && !hasAggregate && fetch.sortDescriptors.allSatisfy { !namesExpression($0) }
    if !sortsRows { whole.sortDescriptors = [] }
    guard source.schema.understands(whole) else {
      throw Self.failure(
        "A fetch of dictionaries cannot be evaluated on rows with code, transient properties or a class's own "
          + "properties; fetch objects instead.")
    }
    var results = try groups(of: source.rows(whole)).map(dictionary)
    if !groupNames.isEmpty, let having = settings.havingPredicate {
      results = results.filter { holds(having, $0.dictionary, $0.rows) }
    }
    var dictionaries = results.map(\.dictionary)
    if !sortsRows { dictionaries = sorted(dictionaries) }
    if settings.returnsDistinctResults {
      var seen: Set<NSDictionary> = []
      dictionaries = dictionaries.filter { seen.insert($0).inserted }
    }
    try source.checkRelatedRows()
    let window = dictionaries.dropFirst(fetch.offset)
    return Array(fetch.limit > 0 ? window.prefix(fetch.limit) : window)
  }

  // MARK: Columns

  private static func failure(_ message: String) -> NSError {
    CoreDataErrors.error(.persistentStoreOperation, message)
  }

  private static func name(_ property: Any) -> String? {
    property as? String ?? (property as? NSPropertyDescription)?.name
  }

  private var attributeNames: [String] {
    storedEntity.layout.slots.filter { $0.kind != .toOne && !$0.isTransient }.map(\.name)
  }

  /// Throws for what SQL's generator throws for, so that a program which works on one store works on the other: a
  /// column that is not grouped by, a path to many objects, a transient attribute.
  private func column(_ property: Any) throws -> Column {
    if let description = property as? NSExpressionDescription {
      guard let expression = description.expression else {
        throw Self.failure("The column \(description.name) has no expression.")
      }
      guard source.schema.understands(expression) else {
        throw Self.failure("The column \(description.name) cannot be computed from rows: it needs objects.")
      }
      return Column(name: description.name, source: .expression(expression), type: description.expressionResultType)
    }
    guard let name = Self.name(property) else {
      throw Self.failure("A column is neither a name nor a property description.")
    }
    if !groupNames.isEmpty && !groupNames.contains(name) {
      throw Self.failure("\"\(name)\" is fetched but not grouped by; only aggregates may stand beside the groups.")
    }
    let keys = KeyPathComponents(name).keys
    try check(keys, name)
    return Column(name: name, source: .path(keys), type: .undefinedAttributeType)
  }

  /// Throws if the path leads to many objects, or to nothing.
  ///
  /// ```text
  /// title, author.name        columns
  /// books                     error: it leads to many objects
  /// books.@count              a column: the operator makes one value of them
  /// author.nam                error: no such property
  /// ```
  private func check(_ keys: [String], _ name: String) throws {
    var entity: NSEntityDescription? = storedEntity.entity
    for (index, key) in keys.enumerated() {
      switch entity?.propertiesByName[key] {
      case let attribute as NSAttributeDescription where attribute.isTransient:
        throw Self.failure("\"\(name)\" is not stored, so it cannot be fetched alone.")
      case is NSAttributeDescription: return
      case let relationship as NSRelationshipDescription:
        guard !relationship.isToMany || keys.dropFirst(index + 1).contains(where: { $0.hasPrefix("@") }) else {
          throw Self.failure("\"\(name)\" leads to many objects: it needs an aggregate such as @count.")
        }
        if relationship.isToMany { return }
        entity = relationship.destinationEntity
      default:
        if ["objectID", "self", "SELF"].contains(key) { return }
        throw Self.failure("The entity \(entity?.name ?? "") has no property \"\(key)\".")
      }
    }
  }

  // MARK: Groups

  private typealias Result = (dictionary: NSDictionary, rows: [MemoryRow])

  private var hasAggregate: Bool {
    columns.contains { if case .expression(let expression) = $0.source { isAggregate(expression) } else { false } }
  }

  /// Without grouping, an aggregate makes one group of all rows, and one dictionary even of no rows: `count:(SELF)` of
  /// an empty table is 0. Otherwise each row is a group by itself. Groups come in the order of their first rows.
  private func groups(of rows: [MemoryRow]) throws -> [[MemoryRow]] {
    guard !groupNames.isEmpty else { return hasAggregate ? [rows] : rows.map { [$0] } }
    var order: [[PredicateValue]] = []
    var groups: [[PredicateValue]: [MemoryRow]] = [:]
    for row in rows {
      let values = groupNames.map { name in PredicateValue(groupValue(name, row)) }
      if groups[values] == nil { order.append(values) }
      groups[values, default: []].append(row)
    }
    return order.compactMap { groups[$0] }
  }

  private func groupValue(_ name: String, _ row: MemoryRow) -> Any? {
    if let column = columns.first(where: { $0.name == name }) { return value(of: column, [row]) }
    return KeyValueReading.value(at: KeyPathComponents(name).keys, of: row)
  }

  private func dictionary(_ rows: [MemoryRow]) -> Result {
    let dictionary = NSMutableDictionary(capacity: columns.count)
    for column in columns {
      if let value = value(of: column, rows) { dictionary[column.name] = value }
    }
    return (dictionary, rows)
  }

  /// A row that a path leads to becomes its object's ID: dictionaries hold no objects.
  private func value(of column: Column, _ rows: [MemoryRow]) -> Any? {
    let value: Any? =
      switch column.source {
      case .path(let keys): rows.first.flatMap { KeyValueReading.value(at: keys, of: $0) }
      case .expression(let expression): self.value(of: expression, rows)
      }
    guard let value else { return nil }
    if let row = value as? MemoryRow { return row.objectID }
    return AttributeValue.result(value, column.type)
  }

  // MARK: Aggregates

  private static let aggregates: Set<String> = [
    "sum:", "count:", "min:", "max:", "average:", "median:", "mode:", "stddev:",
  ]

  /// Whether the expression or a part of it applies to all rows of a group.
  ///
  /// ```text
  /// sum:(pages)               true: over the rows of the group
  /// sum:(pages) / 2           true: a part of it is
  /// sum:({pages, 10})         false: the list is of one row
  /// sum:(books.pages)         false: the books are those of one author
  /// title                     false
  /// ```
  private func isAggregate(_ expression: NSExpression) -> Bool {
    guard case .function(let name, let operand, let arguments) = expression.node else { return false }
    if Self.aggregates.contains(name), operand == nil, arguments.count == 1, !isCollection(arguments[0]) { return true }
    return (operand.map(isAggregate) ?? false) || arguments.contains(where: isAggregate)
  }

  /// Whether an expression has many values for one row.
  private func isCollection(_ expression: NSExpression) -> Bool {
    switch expression.node {
    case .aggregate, .subquery, .set: true
    case .keyPath(nil, let path): leadsToMany(path.keys)
    default: false
    }
  }

  /// Whether a path from a row leads through a to-many relationship, and no operator makes one value of the members.
  private func leadsToMany(_ keys: [String]) -> Bool {
    let reducing: [CollectionOperator] = [.count, .sum, .average, .minimum, .maximum]
    if keys.contains(where: { CollectionOperator(rawValue: $0).map(reducing.contains) ?? false }) { return false }
    var entity: NSEntityDescription? = storedEntity.entity
    for key in keys {
      guard let relationship = entity?.relationshipsByName[key] else { return false }
      if relationship.isToMany { return true }
      entity = relationship.destinationEntity
    }
    return false
  }

  /// `sum:(pages) / count:(pages)`: each aggregate is replaced by its value in the group, and the rest evaluated on one
  /// row.
  private func value(of expression: NSExpression, _ rows: [MemoryRow]) -> Any? {
    guard isAggregate(expression), case .function(let name, let operand, let arguments) = expression.node else {
      return rows.first.flatMap { expression.value(in: EvaluationContext(object: $0, variables: [:])) }
    }
    if Self.aggregates.contains(name), !arguments.contains(where: isAggregate),
      let function = PredicateFunction(rawValue: name)
    {
      let values = rows.compactMap { arguments[0].value(in: EvaluationContext(object: $0, variables: [:])) }
      // As in SQL: no values have a count of 0 and no other aggregate.
      return values.isEmpty && function != .count ? nil : function.value(of: [values])
    }
    func constant(_ part: NSExpression) -> NSExpression { NSExpression(forConstantValue: value(of: part, rows)) }
    let folded = NSExpression(
      node: .function(name: name, operand: operand.map(constant), arguments: arguments.map(constant)))
    return folded.value(in: EvaluationContext(object: rows.first, variables: [:]))
  }

  // MARK: Having and order

  /// Whether a group matches. The predicate may name columns and hold aggregates.
  private func holds(_ predicate: NSPredicate, _ dictionary: NSDictionary, _ rows: [MemoryRow]) -> Bool {
    switch predicate.kind {
    case .truth(let value): return value
    case .compound(.and, let parts): return parts.allSatisfy { holds($0, dictionary, rows) }
    case .compound(.or, let parts): return parts.contains { holds($0, dictionary, rows) }
    case .compound(_, let parts): return !(parts.first.map { holds($0, dictionary, rows) } ?? false)
    case .comparison(let comparison):
      let (left, right) = (comparison.leftExpression, comparison.rightExpression)
      return NSComparisonPredicate(
        leftExpression: resolved(left, dictionary, rows), rightExpression: resolved(right, dictionary, rows),
        modifier: comparison.comparisonPredicateModifier, type: comparison.predicateOperatorType,
        options: comparison.options
      ).evaluate(with: rows.first)
    case .block: return false
    }
  }

  /// A part of a condition on groups, with its value in the group.
  ///
  /// `total > 100` compares the value that the dictionary has under "total"; `sum:(pages) > 100` computes it for the
  /// group.
  private func resolved(_ expression: NSExpression, _ dictionary: NSDictionary, _ rows: [MemoryRow]) -> NSExpression {
    switch expression.node {
    case .variable(let name) where columns.contains(where: { $0.name == name }):
      NSExpression(forConstantValue: dictionary[name])
    case .keyPath(nil, let path) where columns.contains(where: { $0.name == path.text }):
      NSExpression(forConstantValue: dictionary[path.text])
    case .function where isAggregate(expression): NSExpression(forConstantValue: value(of: expression, rows))
    default: expression
    }
  }

  private func namesExpression(_ descriptor: NSSortDescriptor) -> Bool {
    columns.contains { column in
      if case .expression = column.source { column.name == descriptor.key } else { false }
    }
  }

  private func sorted(_ dictionaries: [NSDictionary]) -> [NSDictionary] {
    dictionaries.sorted(by: fetch.sortDescriptors.map(MemoryReader.keyed)) { dictionary, descriptor in
      .value(PredicateValue(descriptor.key.flatMap { dictionary[$0] }))
    }
  }
}

extension AttributeValue {
  /// An expression's result, converted to the request's type if it names one.
  static func result(_ value: Any, _ type: NSAttributeType) -> Any? {
    switch type {
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType, .booleanAttributeType,
      .doubleAttributeType, .floatAttributeType:
      numeric(value, type)
    case .decimalAttributeType: boxed(value, type)
    // A sum or an average of dates is a number of seconds.
    case .dateAttributeType:
      PredicateValue(value).double.map { Date(timeIntervalSinceReferenceDate: $0) } ?? FoundationValue.of(value)
    default: FoundationValue.of(value)
    }
  }
}
