/// The members of to-many relationships: join rows and positions.
extension ServerChangeWriter {
  /// The changes of one relationship, of all rows of the save.
  private struct Changes {
    var removed: [(owner: Int64, member: Int64)] = []
    var added: [(owner: Int64, member: Int64)] = []
    /// The members of owners whose members were all read, with their positions.
    var placed: [(owner: Int64, member: Int64, position: Int64)] = []
    /// The members that come after those that the store has, with the distance from the first new position.
    var appended: [(owner: Int64, member: Int64, position: Int64)] = []
  }

  func addMembers() throws {
    var order: [NSRelationshipDescription] = []
    var all: [NSRelationshipDescription: (mapping: TableMapping, changes: Changes)] = [:]
    func collect(_ members: [MemberChange], of owner: Int64, _ mapping: TableMapping) throws {
      for change in members {
        if all[change.relationship] == nil {
          order.append(change.relationship)
          all[change.relationship] = (mapping, Changes())
        }
        try add(change, of: owner, to: &all[change.relationship, default: (mapping, Changes())].changes)
      }
    }
    for (index, row) in changes.inserted.enumerated() where !row.members.isEmpty {
      try collect(row.members, of: saved.keys[index], store.mapping(row.values.layout.name))
    }
    for row in changes.updated where !row.members.isEmpty {
      try collect(row.members, of: row.key, store.writer(row.storedEntity.number).mapping)
    }
    for relationship in order {
      guard let (mapping, changes) = all[relationship], let place = mapping.toManys[relationship.name] else { continue }
      addStatements(changes, place)
    }
  }

  private func add(_ change: MemberChange, of owner: Int64, to changes: inout Changes) throws {
    for member in change.removed where member > 0 { changes.removed.append((owner, member)) }
    for member in change.added { changes.added.append((owner, try change.permanentKey(member, resolve))) }
    // 2048 for the first and 1024 more for each, so that other programs can put rows between.
    for (index, member) in (change.order ?? []).enumerated() {
      let (member, offset) = (try change.permanentKey(member, resolve), Int64(index) * 1024)
      if change.isWhole {
        changes.placed.append((owner, member, 2048 + offset))
      } else {
        changes.appended.append((owner, member, offset))
      }
    }
  }

  private func addStatements(_ changes: Changes, _ place: ToManyMapping) {
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

  private func addOrder(_ changes: Changes, _ table: String, owner: String, member: String, _ orderColumn: String) {
    let source = "FROM unnest($1, $2, $3) AS u (owner, member, position) WHERE \(member)"
    if !changes.placed.isEmpty {
      add("UPDATE \(table) t SET \(orderColumn) = u.position \(source)", parameters(changes.placed))
    }
    if !changes.appended.isEmpty {
      let last = "SELECT max(o.\(orderColumn)) + 1024 FROM \(table) o WHERE o.\(owner) = u.owner"
      add(
        "UPDATE \(table) t SET \(orderColumn) = u.position + coalesce((\(last)), 2048) \(source)",
        parameters(changes.appended))
    }
  }

  private func parameters(_ pairs: [(owner: Int64, member: Int64)]) -> ServerParameters {
    var (owners, members) = (ServerArray(.int8), ServerArray(.int8))
    for pair in pairs {
      owners.append(pair.owner)
      members.append(pair.member)
    }
    var parameters = ServerParameters()
    parameters.add(owners)
    parameters.add(members)
    return parameters
  }

  private func parameters(_ places: [(owner: Int64, member: Int64, position: Int64)]) -> ServerParameters {
    var parameters = parameters(places.map { ($0.owner, $0.member) })
    var positions = ServerArray(.int8)
    for place in places { positions.append(place.position) }
    parameters.add(positions)
    return parameters
  }
}
