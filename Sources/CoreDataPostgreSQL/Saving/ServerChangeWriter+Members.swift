/// The changes of one relationship's members, of all rows of a save. Pairs of all owners stand in one list, so that a
/// relationship takes at most four statements, no matter how many objects have changed.
struct MemberChanges {
  /// Removed and added pairs: rows of a join table. Both are empty for a one-to-many relationship, whose
  /// members tell their owner in a column of their own.
  var removed: [(owner: Int64, member: Int64)] = []
  var added: [(owner: Int64, member: Int64)] = []
  /// The members of owners whose members were all read, with their positions.
  var placed: [(owner: Int64, member: Int64, position: Int64)] = []
  /// The members that come after those that the store has, with the distance from the first new position.
  var appended: [(owner: Int64, member: Int64, position: Int64)] = []

  /// Adds the changes of one owner. Positions of a whole list begin at 2048, 1024 apart; those of appended members are
  /// distances from where the stored list ends.
  mutating func add(_ change: MemberChange, of owner: Int64) {
    for member in change.removed { removed.append((owner, member)) }
    for member in change.added { added.append((owner, member)) }
    for (index, member) in (change.order ?? []).enumerated() {
      let offset = Int64(index) * MemberPosition.distance
      if change.isWhole {
        placed.append((owner, member, MemberPosition.first + offset))
      } else {
        appended.append((owner, member, offset))
      }
    }
  }
}

/// The members of to-many relationships: join rows and positions.
///
/// Both objects of a pair report the change, mostly in the same save, so `WrittenPairs` leaves the second report out.
/// ON CONFLICT DO NOTHING passes over a pair that another save has written already.
///
/// ```text
/// book.tags = [t1, t2], an ordered many-to-many relationship with the inverse tag.books
///
/// INSERT INTO "app"."Book_tags" ("tags", "Book") SELECT * FROM unnest($1, $2) ON CONFLICT DO NOTHING
///     $1 = '{1029,1030}', $2 = '{2,2}'                               from tag.books
/// UPDATE "app"."Book_tags" t SET "tags_position" = u.position
/// FROM unnest($1, $2, $3) AS u (owner, member, position)
/// WHERE t."tags" = u.member AND t."Book" = u.owner AND t."tags_position" IS DISTINCT FROM u.position
///     $1 = '{2,2}', $2 = '{1029,1030}', $3 = '{2048,3072}'
/// ```
extension ServerChangeWriter {
  /// Collects the changes of one object's relationship; `addMembers` makes statements of them when all are known.
  func write(_ members: MemberChange, of owner: Int64, _ storedEntity: StoredEntity) throws {
    let place = memberPlaces[members.relationship] ?? memberChanges.count
    if place == memberChanges.count {
      memberPlaces[members.relationship] = place
      memberChanges.append((storedEntity, members.relationship, MemberChanges()))
    }
    memberChanges[place].changes.add(members, of: owner)
  }

  func addMembers() {
    var (removed, added) = (WrittenPairs(), WrittenPairs())
    for (storedEntity, relationship, changes) in memberChanges {
      guard let place = store.writer(storedEntity.number).mapping.toManys[relationship.name] else { continue }
      var changes = changes
      if case .join(_, let table, let ownerColumn, let destinationColumn, _) = place {
        let isFirst = ownerColumn < destinationColumn
        changes.removed = removed.add(changes.removed, to: table, ownerIsFirst: isFirst)
        changes.added = added.add(changes.added, to: table, ownerIsFirst: isFirst)
      }
      addStatements(changes, place)
    }
  }

  /// The statements of one relationship.
  ///
  /// ```text
  /// DELETE FROM "app"."Book_tags" t USING unnest($1, $2) AS u (owner, member)
  /// WHERE t."Book" = u.owner AND t."tags" = u.member
  /// ```
  private func addStatements(_ changes: MemberChanges, _ place: ToManyMapping) {
    switch place {
    case .foreignKey(_, let table, let inverse):
      guard let orderColumn = inverse.orderColumn else { return }
      let member = "t.\(ServerLayout.ownColumns.key) = u.member"
      addOrder(changes, table, owner: inverse.column, member: member, orderColumn)
    case .join(_, let table, let ownerColumn, let destinationColumn, let orderColumn):
      if !changes.removed.isEmpty {
        add(
          """
          DELETE FROM \(table) t USING unnest($1, $2) AS u (owner, member) \
          WHERE t.\(ownerColumn) = u.owner AND t.\(destinationColumn) = u.member
          """, parameters(changes.removed))
      }
      if !changes.added.isEmpty {
        add(
          """
          INSERT INTO \(table) (\(ownerColumn), \(destinationColumn)) SELECT * FROM unnest($1, $2) \
          ON CONFLICT DO NOTHING
          """, parameters(changes.added))
      }
      guard let orderColumn else { return }
      let member = "t.\(destinationColumn) = u.member AND t.\(ownerColumn) = u.owner"
      addOrder(changes, table, owner: ownerColumn, member: member, orderColumn)
    }
  }

  /// The positions of ordered members, in the join table or in the members' own rows.
  ///
  /// Members that were added at the end of a list that was not read get positions after the last one that the server
  /// has:
  ///
  /// ```text
  /// UPDATE "app"."Book_tags" t SET "tags_position" = u.position + coalesce((SELECT max(o."tags_position") + 1024
  /// FROM "app"."Book_tags" o WHERE o."Book" = u.owner), 2048) FROM unnest($1, $2, $3) AS u (owner, member, position)
  /// WHERE t."tags" = u.member AND t."Book" = u.owner
  /// ```
  ///
  /// Two sessions that append at the same time may give the same position; then the order of these two is not
  /// determined.
  private func addOrder(_ changes: MemberChanges, _ table: String, owner: String, member: String, _ orderColumn: String)
  {
    let source = "FROM unnest($1, $2, $3) AS u (owner, member, position) WHERE \(member)"
    if !changes.placed.isEmpty {
      // Without the condition a row that has its position already would be written once more.
      let condition = "AND t.\(orderColumn) IS DISTINCT FROM u.position"
      add("UPDATE \(table) t SET \(orderColumn) = u.position \(source) \(condition)", parameters(changes.placed))
    }
    if !changes.appended.isEmpty {
      let last = "SELECT max(o.\(orderColumn)) + \(MemberPosition.distance) FROM \(table) o WHERE o.\(owner) = u.owner"
      add(
        "UPDATE \(table) t SET \(orderColumn) = u.position + coalesce((\(last)), \(MemberPosition.first)) \(source)",
        parameters(changes.appended))
    }
  }

  private func parameters(_ pairs: [(owner: Int64, member: Int64)]) -> ServerParameters {
    var parameters = ServerParameters()
    parameters.add(ServerArray(pairs.map(\.owner)))
    parameters.add(ServerArray(pairs.map(\.member)))
    return parameters
  }

  private func parameters(_ places: [(owner: Int64, member: Int64, position: Int64)]) -> ServerParameters {
    var parameters = parameters(places.map { ($0.owner, $0.member) })
    parameters.add(ServerArray(places.map(\.position)))
    return parameters
  }
}
