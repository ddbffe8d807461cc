import CoreData

/// What somebody wants of the intake.
struct IntakeInbox {
  private(set) var names: [String] = []
  /// Rows of files that are gone for good.
  var rowsToForget: [NSManagedObjectID] = []
  var mustLook = false
  var isWorking = false
  var isClosed = false

  /// With more names than this the whole directory is looked at instead.
  static let mostNames = 100_000

  mutating func announce(_ names: [String]) {
    self.names += names
    guard self.names.count > Self.mostNames else { return }
    self.names = []
    mustLook = true
  }

  /// Whether a look at everything is asked for; it is not any more after this.
  mutating func takeLook() -> Bool {
    defer { mustLook = false }
    return mustLook
  }

  mutating func takeNames() -> [String] {
    defer { names = [] }
    return names
  }

  mutating func takeRowsToForget() -> [NSManagedObjectID] {
    defer { rowsToForget = [] }
    return rowsToForget
  }
}
