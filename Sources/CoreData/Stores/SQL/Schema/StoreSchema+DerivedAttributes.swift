extension StoreSchema {
  /// The triggers that keep derived attributes.
  ///
  /// Apple's triggers of the same names also call a function of Apple's framework, so plain SQLite cannot insert into
  /// such a table. Those of counts and copies here do not, and the values are right no matter which program writes.
  /// Derivations of other forms than `Derivation` knows have no trigger.
  ///
  /// The triggers run inside of the statement that changes the row. So a derived value is right at the end of each
  /// statement, whichever program wrote, and a rolled-back save takes it back. The writer does not know what the
  /// triggers computed: the rows of saved objects with derived attributes leave the row cache, and those of other rows
  /// that are derived from them (`StoreChanges.derivedRows`).
  ///
  /// Who may be in the way: an INSERT with ON CONFLICT runs BEFORE triggers before it finds the conflict. All triggers
  /// here are AFTER triggers, which is why groups of rows can be updated by such an INSERT
  /// (`SQLiteChangeWriter.updatesGroups`).
  var derivedAttributeStatements: [String] { derivedColumns.flatMap(\.triggers) }

  /// The statements that compute derived attributes of all rows.
  var derivedAttributeFills: [String] { derivedColumns.compactMap(\.fill) }
}

/// The triggers of one column in a SQLite file.
extension DerivedColumn {
  /// What the derivations make, with `Author.bookCount = books.@count` and `Book.authorName = author.name`:
  ///
  /// ```text
  /// derivation         event                            triggers
  /// -----------------  -------------------------------  --------------------------------------------------------
  /// now()              a row of Book is written         SOURCE_INSERT, SOURCE_UPDATE (of Z_OPT: each save raises it)
  /// canonical:(title)  a row of Book is written         SOURCE_INSERT, SOURCE_UPDATE (of ZTITLE)
  /// author.name        a book gets another author       SOURCE_INSERT, SOURCE_UPDATE (of ZAUTHOR)
  ///                    an author gets another name      PARAMETER_INSERT, PARAMETER_UPDATE (of ZNAME)
  /// books.@count       a book comes                     PARAMETER_INSERT
  ///                    a book moves                     PARAMETER_UPDATE_INCREMENT, PARAMETER_UPDATE_DECREMENT
  ///                    a book goes                      PARAMETER_DELETE
  ///                    an author comes after its books  SOURCE_INSERT
  /// books.@sum.pages   the same, and other pages        the same, over (ZAUTHOR, ZPAGES)
  /// ```
  ///
  /// "Source" is the row that has the derived attribute, "parameter" the one that it is derived from: Apple's words in
  /// the names of the triggers.
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
  ///
  /// Run by `StoreMigration` for every derived attribute, when the rows are copied and the triggers made. For
  /// `totalPages`:
  ///
  /// ```text
  /// UPDATE ZAUTHOR SET ZTOTALPAGES = (SELECT IFNULL(SUM(m.ZPAGES), 0) FROM ZBOOK AS m WHERE m.ZAUTHOR = ZAUTHOR.Z_PK)
  ///   WHERE Z_ENT IN (1)
  /// ```
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
  ///
  /// `julianday('now')` is the time of the statement's start and has milliseconds
  /// (https://www.sqlite.org/lang_datefunc.html): all rows of one statement get the same time.
  private static let now = "((julianday('now') - 2451910.5) * 86400.0)"

  /// `cd_call('canonical:', 0, NEW.ZTITLE)`. The function is the framework's own, so plain `sqlite3` refuses to change
  /// a title of a file with such an attribute: "no such function: cd_call". Counts, sums and copies use SQLite's
  /// functions only.
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

  /// For `Book.authorName`, whose source is `author.name`:
  ///
  /// ```text
  /// CREATE TRIGGER Z_DA_ZBOOK_Book_authorName_SOURCE_INSERT AFTER INSERT ON ZBOOK FOR EACH ROW
  ///   BEGIN UPDATE ZBOOK SET ZAUTHORNAME = (SELECT s.ZNAME FROM ZAUTHOR AS s WHERE s.Z_PK = NEW.ZAUTHOR)
  ///         WHERE Z_PK = NEW.Z_PK; END
  /// CREATE TRIGGER Z_DA_ZAUTHOR_Book_authorName_PARAMETER_UPDATE AFTER UPDATE OF ZNAME ON ZAUTHOR FOR EACH ROW
  ///   BEGIN UPDATE ZBOOK SET ZAUTHORNAME = NEW.ZNAME WHERE ZAUTHOR = NEW.Z_PK; END
  /// ```
  ///
  /// The second one costs an update of every book of the author, found by the index of the to-one.
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
  ///
  /// ```text
  /// CREATE TRIGGER Z_DA_ZBOOK_Author_bookCount_PARAMETER_INSERT AFTER INSERT ON ZBOOK FOR EACH ROW
  ///   WHEN (NEW.ZAUTHOR NOT NULL)
  ///   BEGIN UPDATE ZAUTHOR SET ZBOOKCOUNT = IFNULL(ZBOOKCOUNT, 0) + 1 WHERE Z_PK = NEW.ZAUTHOR; END
  /// ```
  ///
  /// A book that moves from one author to another fires both `UPDATE_INCREMENT` for the new and `UPDATE_DECREMENT`
  /// for the old one. An update that sets the same author again adds one and takes it away.
  ///
  /// The cost of one changed book is one row of ZAUTHOR, however many books the author has; the sum below reads all of
  /// them.
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

  /// A sum, least, largest or average is computed anew from all members, for it may not follow from the old one (the
  /// largest value may be the one that left):
  ///
  /// ```text
  /// CREATE TRIGGER Z_DA_ZBOOK_Author_totalPages_PARAMETER_UPDATE_INCREMENT AFTER UPDATE OF ZAUTHOR, ZPAGES ON ZBOOK
  ///   FOR EACH ROW WHEN (NEW.ZAUTHOR NOT NULL)
  ///   BEGIN UPDATE ZAUTHOR SET ZTOTALPAGES =
  ///           (SELECT IFNULL(SUM(m.ZPAGES), 0) FROM ZBOOK AS m WHERE m.ZAUTHOR = NEW.ZAUTHOR)
  ///         WHERE Z_PK = NEW.ZAUTHOR; END
  /// ```
  ///
  /// A save of 1,000 books of one author computes the author's sum 1,000 times. A count of a many-to-many relationship
  /// goes this way too, over the join table.
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
  ///
  /// ```text
  /// Author.books, by author         (SELECT IFNULL(SUM(m.ZPAGES), 0) FROM ZBOOK AS m WHERE m.ZAUTHOR = NEW.Z_PK)
  /// count of a many-to-many         (SELECT COUNT(*) FROM Z_1BOOKS AS l WHERE l.Z_1AUTHORS = NEW.Z_PK)
  /// sum over a many-to-many         (SELECT IFNULL(SUM(m.ZPAGES), 0) FROM Z_1BOOKS AS l
  ///                                    JOIN ZBOOK AS m ON m.Z_PK = l.Z_2BOOKS WHERE l.Z_1AUTHORS = NEW.Z_PK)
  /// ```
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
