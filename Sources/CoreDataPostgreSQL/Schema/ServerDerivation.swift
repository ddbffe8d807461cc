/// One derived column in the server's words. `ServerDerivations` puts the parts together:
///
/// ```text
/// ownValue       what the row gets before it is written       in _derive_Author, for all columns of the table
/// functions      what other rows' changes do to it            a function for each, with its triggers
/// fill           the same for all rows at once                one UPDATE
/// ```
struct ServerDerivation {
  let column: DerivedColumn
  private let texts: ServerTextFunctions

  /// - Returns: nil for values that the server would have to convert from one kind to another.
  init?(_ column: DerivedColumn, _ texts: ServerTextFunctions) {
    self.column = column
    self.texts = texts
    switch column.derivation {
    case .now:
      if column.type != .dateAttributeType { return nil }
    case .copy(nil, let attribute, let functions):
      guard let source = column.mapping.attributes[attribute], copied(source, functions, "x") != nil else { return nil }
    case .copy(let relationship?, let attribute, let functions):
      guard let source = column.source(relationship, attribute), copied(source.attribute, functions, "x") != nil else {
        return nil
      }
    case .aggregate(let aggregate, let relationship, let attribute):
      guard let members = column.members(relationship, attribute),
        aggregated(aggregate, members, of: "x") != nil
      else { return nil }
    }
  }

  private var mapping: TableMapping { column.mapping }
  private var table: String { mapping.table }
  private var key: String { mapping.names.key }

  var isAggregate: Bool { if case .aggregate = column.derivation { true } else { false } }

  // MARK: Values

  /// A value of an attribute, changed by functions of texts, in the column's type: `"app"."_lower"(NEW."name")`.
  private func copied(_ source: AttributeColumn, _ functions: [String], _ value: String) -> String? {
    if functions.isEmpty { return Self.converted(value, from: source.type, to: column.type) }
    guard source.type == .stringAttributeType, column.type == .stringAttributeType else { return nil }
    return functions.reversed().reduce(value) { value, name in
      let function: StoredTextFunction =
        name == "uppercase:" ? .upper : name == "lowercase:" ? .lower : .fold
      return "\(texts.name(function))(\(value))"
    }
  }

  /// The aggregate of an owner's members, as a subquery.
  ///
  /// ```text
  /// books.@count          (SELECT count(*) FROM "app"."Book" m WHERE m."author" = NEW._key)
  /// books.pages.@max      (SELECT m."pages" FROM "app"."Book" m WHERE m."author" = NEW._key AND m."pages" IS NOT NULL
  ///                       ORDER BY m."pages" DESC LIMIT 1)
  /// books.pages.@sum      (SELECT CASE WHEN coalesce(sum(m."pages"), 0) >= -9223372036854775808
  ///                       AND coalesce(sum(m."pages"), 0) < 9223372036854775808
  ///                       THEN trunc(coalesce(sum(m."pages"), 0))::bigint END FROM "app"."Book" m WHERE …)
  /// books.pages.@avg      (SELECT coalesce(sum(m."pages")::float8 / nullif(count(*), 0), 0) FROM "app"."Book" m
  ///                       WHERE …)
  /// tags.@count           (SELECT count(*) FROM "app"."Book_tags" l WHERE l."Book" = NEW._key)
  /// ```
  ///
  /// The sum of `bigint` is a `numeric` at the server, so it does not overflow before it is converted.
  private func aggregated(_ aggregate: Derivation.Aggregate, _ members: DerivedColumn.Members, of owner: String)
    -> String?
  {
    let value = "m.\(members.attribute?.column ?? "")"
    let type = members.attribute?.type ?? .integer64AttributeType
    let isNumeric = SQLType(type).isNumeric
    let number = type == .booleanAttributeType ? "\(value)::int" : value
    var (result, resultType, end) = ("count(*)", NSAttributeType.integer64AttributeType, "")
    switch aggregate {
    case .count: break
    case .sum:
      guard isNumeric else { return nil }
      resultType = SQLType(type) == .number ? .doubleAttributeType : .decimalAttributeType
      result = "coalesce(sum(\(number)), 0)"
    case .average, .averageOfPath:
      guard isNumeric else { return nil }
      resultType = .doubleAttributeType
      result =
        aggregate == .average
        ? "sum(\(number))::float8 / nullif(count(\(value)), 0)"
        : "coalesce(sum(\(number))::float8 / nullif(count(*), 0), 0)"
    case .min, .max:
      // Not all types have a least and a greatest value.
      (result, resultType) = (value, type)
      end = " AND \(value) IS NOT NULL ORDER BY \(value) \(aggregate == .min ? "ASC" : "DESC") LIMIT 1"
    }
    guard let converted = Self.converted(result, from: resultType, to: column.type) else { return nil }
    guard let member = members.member else {
      return "(SELECT \(converted) FROM \(members.table) m WHERE m.\(members.owner) = \(owner)\(end))"
    }
    let links = "FROM \(members.links) l"
    if members.attribute == nil { return "(SELECT \(converted) \(links) WHERE l.\(members.owner) = \(owner))" }
    return "(SELECT \(converted) \(links) JOIN \(members.table) m ON m.\(key) = l.\(member) "
      + "WHERE l.\(members.owner) = \(owner)\(end))"
  }

  /// The value in a column of another type; nil for kinds that are not converted. A number that does not fit becomes
  /// NULL.
  private static func converted(_ value: String, from: NSAttributeType, to: NSAttributeType) -> String? {
    let (source, target) = (SQLType(from), SQLType(to))
    if source.isNumeric, target.isNumeric {
      let number = from == .booleanAttributeType ? "(\(value))::int" : value
      switch to {
      case .booleanAttributeType: return from == to ? value : "(\(number)) <> 0"
      case .doubleAttributeType, .floatAttributeType: return source == target ? value : "(\(number))::float8"
      case .decimalAttributeType: return source == target ? value : "(\(number))::numeric"
      default:
        if source == target { return number }
        // NULL for a value that does not fit, such as an infinity: an error would refuse the row that it comes from.
        let isInRange = "\(number) >= -9223372036854775808 AND \(number) < 9223372036854775808"
        return "CASE WHEN \(isInRange) THEN trunc(\(number))::bigint END"
      }
    }
    let texts: [SQLType] = [.text, .uri]
    return source == target || (texts.contains(source) && texts.contains(target)) ? value : nil
  }

  // MARK: Before a row is written

  /// The column with the value from which the row itself computes this one.
  var ownSource: String? {
    if case .copy(nil, let attribute, _) = column.derivation { mapping.attributes[attribute]?.column } else { nil }
  }

  /// The value that a row gets before it is written; nil for one that depends on other rows only.
  ///
  /// ```text
  /// IF NEW._entity IN (1) THEN
  ///   NEW."sortName" := "app"."_lower"(NEW."name");
  /// END IF;
  /// IF NEW._entity IN (1) AND TG_OP = 'INSERT' THEN
  ///   NEW."bookCount" := (SELECT count(*) FROM "app"."Book" m WHERE m."author" = NEW._key);
  /// END IF;
  /// ```
  var ownValue: String? {
    switch column.derivation {
    case .now: "now()"
    case .copy(nil, let attribute, let functions):
      mapping.attributes[attribute].flatMap { copied($0, functions, "NEW.\($0.column)") }
    case .copy: nil
    case .aggregate(let aggregate, let relationship, let attribute):
      // Members may have been written before their owner.
      column.members(relationship, attribute).flatMap { aggregated(aggregate, $0, of: "NEW.\(key)") }
    }
  }

  /// When it gets that value.
  var ownCondition: String {
    switch column.derivation {
    // Each save raises the version.
    case .now: " AND (TG_OP = 'INSERT' OR NEW.\(mapping.names.version) IS DISTINCT FROM OLD.\(mapping.names.version))"
    case .copy: ""
    case .aggregate: " AND TG_OP = 'INSERT'"
    }
  }

  /// Computes the column of all rows.
  ///
  /// ```text
  /// UPDATE "app"."Author" t SET "bookCount" = (SELECT count(*) FROM "app"."Book" m WHERE m."author" = t._key)
  /// WHERE t._entity IN (1)
  /// ```
  var fill: String {
    let value: String?
    switch column.derivation {
    case .now: value = "now()"
    case .copy(nil, let attribute, let functions):
      value = mapping.attributes[attribute].flatMap { copied($0, functions, "t.\($0.column)") }
    case .copy(let relationship?, let attribute, let functions):
      value = column.source(relationship, attribute).flatMap { source in
        copied(source.attribute, functions, current(source))
      }
    case .aggregate(let aggregate, let relationship, let attribute):
      value = column.members(relationship, attribute).flatMap { aggregated(aggregate, $0, of: "t.\(key)") }
    }
    return "UPDATE \(table) t SET \(column.column) = \(value ?? "NULL") WHERE t.\(column.ofEntity)"
  }

  /// The value at the end of the to-one relationship of the row `t`.
  private func current(_ source: DerivedColumn.Source) -> String {
    "(SELECT s.\(source.attribute.column) FROM \(source.table) s WHERE s.\(key) = t.\(source.key))"
  }

  // MARK: After a statement

  typealias Functions = [(suffix: String, function: ServerStatementFunction)]

  /// - Parameter countedTables: the tables that have columns with aggregates.
  func functions(countedTables: Set<String>) -> Functions {
    switch column.derivation {
    case .now, .copy(nil, _, _): []
    case .copy(let relationship?, let attribute, let functions):
      column.source(relationship, attribute).map { source in
        copies(source, functions, lock: Self.lock(source.table, countedTables))
      } ?? []
    case .aggregate(let aggregate, let relationship, let attribute):
      column.members(relationship, attribute).map {
        aggregates(aggregate, $0, lock: Self.lock($0.table, countedTables))
      } ?? []
    }
  }

  /// The lock of rows that are read. Where triggers may write them afterwards it is that of a writer at once: if two
  /// sessions made a weaker one stronger, they would wait for each other.
  ///
  /// ```text
  /// session 1                              session 2
  /// FOR SHARE of author 1
  ///                                        FOR SHARE of author 1: both have it
  /// UPDATE of author 1: waits for 2
  ///                                        UPDATE of author 1: waits for 1, 40P01
  /// ```
  private static func lock(_ table: String, _ countedTables: Set<String>) -> String {
    countedTables.contains(table) ? "NO KEY UPDATE" : "SHARE"
  }

  /// The functions for a value that is copied along a to-one relationship, such as Book.authorName.
  ///
  /// ```text
  /// _derive_Book_authorName_from, after INSERT and UPDATE of books
  ///     changed = the books that have got another author
  ///     PERFORM 1 FROM "app"."Author" s WHERE s._key IN (…) ORDER BY s._key FOR SHARE;      or FOR NO KEY UPDATE
  ///     UPDATE "app"."Book" t SET "authorName" = (SELECT s."name" FROM "app"."Author" s WHERE s._key = t."author")
  ///     WHERE t._key = ANY(changed) AND t._entity IN (2) AND t."authorName" IS DISTINCT FROM (SELECT …);
  ///
  /// _derive_Book_authorName_to, after INSERT and UPDATE of authors
  ///     changed = the authors that have got another name
  ///     PERFORM 1 FROM "app"."Book" t WHERE t."author" = ANY(changed) ORDER BY t._key FOR NO KEY UPDATE;
  ///     UPDATE "app"."Book" t SET "authorName" = … WHERE t."author" = ANY(changed) AND …
  /// ```
  ///
  /// The UPDATE is itself a statement on "app"."Book", which calls the first function again. IS DISTINCT FROM ends
  /// that: the second time nothing differs, so nothing is written.
  private func copies(_ source: DerivedColumn.Source, _ functions: [String], lock: String) -> Functions {
    let value = copied(source.attribute, functions, current(source)) ?? "NULL"
    let update = "UPDATE \(table) t SET \(column.column) = \(value) WHERE"
    let changed = "t.\(column.ofEntity) AND t.\(column.column) IS DISTINCT FROM \(value)"
    // A row that gets another row at its other end.
    let referring = """
      DECLARE changed bigint[];
      BEGIN
        IF TG_OP = 'INSERT' THEN
          changed := ARRAY(SELECT n.\(key) FROM new_rows n WHERE n.\(source.key) IS NOT NULL);
        ELSE
          changed := ARRAY(SELECT n.\(key) FROM new_rows n JOIN old_rows o USING (\(key))
            WHERE n.\(source.key) IS DISTINCT FROM o.\(source.key));
        END IF;
        IF cardinality(changed) = 0 THEN RETURN NULL; END IF;
        PERFORM 1 FROM \(source.table) s
          WHERE s.\(key) IN (SELECT n.\(source.key) FROM new_rows n WHERE n.\(key) = ANY(changed))
          ORDER BY s.\(key) FOR \(lock);
        \(update) t.\(key) = ANY(changed) AND \(changed);
        RETURN NULL;
      END
      """
    // The other row gets another value, or comes after those that refer to it.
    let referred = """
      DECLARE changed bigint[];
      BEGIN
        IF TG_OP = 'INSERT' THEN
          changed := ARRAY(SELECT n.\(key) FROM new_rows n);
        ELSE
          changed := ARRAY(SELECT n.\(key) FROM new_rows n JOIN old_rows o USING (\(key))
            WHERE n.\(source.attribute.column) IS DISTINCT FROM o.\(source.attribute.column));
        END IF;
        IF cardinality(changed) = 0 THEN RETURN NULL; END IF;
        PERFORM 1 FROM \(table) t WHERE t.\(source.key) = ANY(changed) ORDER BY t.\(key) FOR NO KEY UPDATE;
        \(update) t.\(source.key) = ANY(changed) AND \(changed);
        RETURN NULL;
      END
      """
    return [
      ("_from", ServerStatementFunction(table: table, body: referring, events: [.insert, .update])),
      ("_to", ServerStatementFunction(table: source.table, body: referred, events: [.insert, .update])),
    ]
  }

  /// The functions for a value that is computed from members. Counts, and sums of whole numbers, go step by step
  /// (`steps`); the others are computed from all members anew.
  ///
  /// ```text
  /// _derive_Author_longest_members, after INSERT, UPDATE and DELETE of books
  ///     owners = the authors whose books differ before and after the statement, in author or pages
  ///     PERFORM 1 FROM "app"."Author" t WHERE t._key = ANY(owners) ORDER BY t._key FOR NO KEY UPDATE;
  ///     UPDATE "app"."Author" t SET "longest" = v.value
  ///     FROM (SELECT k.key, (SELECT m."pages" …) AS value FROM unnest(owners) AS k (key)) v
  ///     WHERE t._key = v.key AND t._entity IN (1) AND t."longest" IS DISTINCT FROM v.value;
  /// ```
  ///
  /// `EXCEPT` between the old and the new rows finds the owners, also both ones of a book that moves from one to the
  /// other.
  private func aggregates(
    _ aggregate: Derivation.Aggregate, _ members: DerivedColumn.Members, lock strength: String
  ) -> Functions {
    if let step = step(aggregate, members), let value = aggregated(aggregate, members, of: "t.\(key)") {
      return [("_members", steps(step, members, anew: value))]
    }
    let value = aggregated(aggregate, members, of: "k.key") ?? "NULL"
    let compute = """
      PERFORM 1 FROM \(table) t WHERE t.\(key) = ANY(owners) ORDER BY t.\(key) FOR NO KEY UPDATE;
        UPDATE \(table) t SET \(column.column) = v.value
          FROM (SELECT k.key, \(value) AS value FROM unnest(owners) AS k (key)) v
          WHERE t.\(key) = v.key AND t.\(column.ofEntity) AND t.\(column.column) IS DISTINCT FROM v.value;
        RETURN NULL;
      """
    // In the rows that tell the members: those that differ before and after the statement.
    let names =
      members.member.map { [members.owner, $0] }
      ?? [key, members.owner] + (members.attribute.map { [$0.column] } ?? [])
    let list = names.joined(separator: ", ")
    let body = """
      DECLARE owners bigint[];
      BEGIN
        IF TG_OP = 'INSERT' THEN
          owners := ARRAY(SELECT DISTINCT n.\(members.owner) FROM new_rows n WHERE n.\(members.owner) IS NOT NULL);
        ELSIF TG_OP = 'DELETE' THEN
          owners := ARRAY(SELECT DISTINCT o.\(members.owner) FROM old_rows o WHERE o.\(members.owner) IS NOT NULL);
        ELSE
          owners := ARRAY(SELECT DISTINCT c.\(members.owner) FROM (
            (SELECT \(list) FROM old_rows EXCEPT SELECT \(list) FROM new_rows) UNION ALL
            (SELECT \(list) FROM new_rows EXCEPT SELECT \(list) FROM old_rows)) c WHERE c.\(members.owner) IS NOT NULL);
        END IF;
        IF cardinality(owners) = 0 THEN RETURN NULL; END IF;
        \(locking(members, strength))\(compute)
      END
      """
    let function = ServerStatementFunction(table: members.links, body: body, events: [.insert, .update, .delete])
    return [("_members", function)] + membersValues(members, compute)
  }

  /// A member's value must stay as it is read until this session commits.
  private func locking(_ members: DerivedColumn.Members, _ strength: String) -> String {
    guard let member = members.member, members.attribute != nil else { return "" }
    return """
      IF TG_OP <> 'DELETE' THEN
          PERFORM 1 FROM \(members.table) m WHERE m.\(key) IN (SELECT n.\(member) FROM new_rows n)
            ORDER BY m.\(key) FOR \(strength);
        END IF;
        
      """
  }

  /// The function for members whose values change, where these stand in another table than the members.
  private func membersValues(_ members: DerivedColumn.Members, _ compute: String) -> Functions {
    guard let member = members.member, let attribute = members.attribute else { return [] }
    let body = """
      DECLARE owners bigint[];
      BEGIN
        owners := ARRAY(SELECT DISTINCT l.\(members.owner) FROM \(members.links) l
          JOIN new_rows n ON n.\(key) = l.\(member) JOIN old_rows o ON o.\(key) = n.\(key)
          WHERE n.\(attribute.column) IS DISTINCT FROM o.\(attribute.column));
        IF cardinality(owners) = 0 THEN RETURN NULL; END IF;
        \(compute)
      END
      """
    return [("_values", ServerStatementFunction(table: members.table, body: body, events: [.update]))]
  }

  // MARK: Step by step

  /// What one row adds to its owner's value; nil for a value that is computed from all members anew. So is that of
  /// owners in the members' own table, since one statement may write both.
  private func step(_ aggregate: Derivation.Aggregate, _ members: DerivedColumn.Members) -> String? {
    if members.links == table { return nil }
    guard let attribute = members.attribute, aggregate == .sum, members.member == nil else {
      return aggregate == .count && SQLType(column.type) == .integer ? "1" : nil
    }
    switch (SQLType(attribute.type), SQLType(column.type)) {
    // Sums of binary fractions would differ from those that are computed anew.
    case (.integer, .integer), (.integer, .decimal), (.decimal, .decimal):
      return "coalesce(r.\(attribute.column)\(attribute.type == .booleanAttributeType ? "::int" : ""), 0)"
    default: return nil
    }
  }

  /// One function that adds and subtracts what the changed rows contribute, without reading the other members: an
  /// author of 10,000 books costs no more than one of two.
  ///
  /// ```text
  /// _derive_Author_totalPages_members, after an UPDATE of books
  ///     PERFORM 1 FROM "app"."Author" t WHERE t._key IN (…) ORDER BY t._key FOR NO KEY UPDATE;
  ///     UPDATE "app"."Author" t SET "totalPages" = CASE WHEN t."totalPages" - t."totalPages" = 0
  ///         AND c.step - c.step = 0 THEN t."totalPages" + c.step ELSE (SELECT …) END
  ///     FROM (SELECT c.owner, coalesce(sum(c.step) FILTER (WHERE c.is_new), 0)
  ///         - coalesce(sum(c.step) FILTER (WHERE NOT c.is_new), 0) AS step
  ///         FROM (SELECT r."author" AS owner, coalesce(r."pages", 0) AS step, true AS is_new FROM new_rows r
  ///         UNION ALL SELECT r."author" AS owner, coalesce(r."pages", 0) AS step, false AS is_new FROM old_rows r) c
  ///         GROUP BY c.owner HAVING … <> 0) c
  ///     WHERE t._key = c.owner AND t._entity IN (1);
  /// ```
  ///
  /// - Parameter value: the value of the owner `t`, computed from all members.
  private func steps(
    _ step: String, _ members: DerivedColumn.Members, anew value: String
  ) -> ServerStatementFunction {
    let added = "SELECT r.\(members.owner) AS owner, \(step) AS step, true AS is_new FROM new_rows r"
    let taken = "SELECT r.\(members.owner) AS owner, \(step) AS step, false AS is_new FROM old_rows r"
    // Old values are subtracted as a sum, and not negated one by one: the least bigint has no opposite.
    func sum(_ condition: String) -> String { "coalesce(sum(c.step) FILTER (WHERE \(condition)), 0)" }
    let difference = "\(sum("c.is_new")) - \(sum("NOT c.is_new"))"
    // A step cannot lead away from NaN, an infinity or NULL: then the value is computed anew.
    let isNumber = "t.\(column.column) - t.\(column.column) = 0 AND c.step - c.step = 0"
    // Without a change nothing is updated, so that columns that depend on each other come to an end.
    func apply(_ rows: String) -> String {
      let changes =
        "SELECT c.owner, \(difference) AS step FROM (\(rows)) c GROUP BY c.owner HAVING \(difference) <> 0"
      return """
        PERFORM 1 FROM \(table) t WHERE t.\(key) IN (SELECT c.owner FROM (\(changes)) c)
              ORDER BY t.\(key) FOR NO KEY UPDATE;
            IF FOUND THEN
              UPDATE \(table) t SET \(column.column) = CASE WHEN \(isNumber) THEN t.\(column.column) + c.step
                  ELSE \(value) END
                FROM (\(changes)) c WHERE t.\(key) = c.owner AND t.\(column.ofEntity);
            END IF;
        """
    }
    let body = """
      BEGIN
        IF TG_OP = 'INSERT' THEN
          \(apply(added))
        ELSIF TG_OP = 'DELETE' THEN
          \(apply(taken))
        ELSE
          \(apply("\(added) UNION ALL \(taken)"))
        END IF;
        RETURN NULL;
      END
      """
    return ServerStatementFunction(table: members.links, body: body, events: [.insert, .update, .delete])
  }
}
