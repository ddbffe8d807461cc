/// Something that others have made in a store, or of its tables: an index, a trigger, a view, a column.
package struct StoreGuest {
  /// What a sentence calls it: "the index titles", "the column mine of ZBOOK".
  package let name: String
  /// Makes it again of the new tables, or looks whether it still works with them; returns the reason why it does not.
  /// Nil for what a migration can only lose.
  package let restore: (() throws -> String?)?

  package init(_ name: String, restore: (() throws -> String?)? = nil) {
    self.name = name
    self.restore = restore
  }

  /// A column of one of the store's tables. The new table has none for its values.
  package static func column(_ name: String, of table: String) -> StoreGuest {
    StoreGuest("the column \(name) of \(table)")
  }
}

/// What others have made in a store whose tables a migration makes anew.
///
/// The rule is the same for a file and at a server: what fits the new tables is there again afterwards. If anything
/// does not, the store is not migrated, and it is named. A store says what guests it has.
///
/// ```text
/// init      finds what can only be lost (columns): refuses before anything is changed
///           the migration makes the tables anew
/// restore   makes indexes and triggers again, tries views; what fails is named, and the migration rolled back
/// ```
package struct StoreGuests {
  private let guests: [StoreGuest]
  private let place: String

  /// - Parameters:
  ///   - guests: those of the old tables.
  ///   - place: the store's, for errors.
  /// - Throws: 134110 with the names of those that the migration would lose.
  package init(_ guests: [StoreGuest], at place: String) throws {
    self.guests = guests
    self.place = place
    try refuse(guests.filter { $0.restore == nil }.map(\.name))
  }

  /// Makes the guests again once the new tables have the place of the old ones.
  ///
  /// - Throws: 134110 with the names of those that do not fit. The caller takes the migration back.
  package func restore() throws {
    try refuse(
      guests.compactMap { guest in
        let reason = try guest.restore?()
        return reason.map { "\(guest.name) (\($0))" }
      })
  }

  private func refuse(_ names: [String]) throws {
    guard !names.isEmpty else { return }
    let more = names.count > 5 ? " and \(names.count - 5) more" : ""
    throw CoreDataErrors.error(
      .migration,
      "\(place) is not migrated: its tables are made anew, and things of others would be lost, because they do not fit "
        + "the new ones: \(names.prefix(5).joined(separator: ", "))\(more). Drop them or move them elsewhere, migrate, "
        + "and make them again in another form.")
  }
}
