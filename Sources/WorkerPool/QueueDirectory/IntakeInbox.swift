import CoreData

/// What the intake was asked to do.
struct IntakeInbox {
  private(set) var names: [String] = []
  /// Rows of files that are gone for good.
  var rowsToForget: [NSManagedObjectID] = []
  var mustScan = false
  var isWorking = false
  var isClosed = false

  /// With more names than this the whole directory is scanned instead.
  static let mostNames = 100_000

  mutating func announce(_ names: [String]) {
    self.names += names
    guard self.names.count > Self.mostNames else { return }
    self.names = []
    mustScan = true
  }

  /// Takes the request for a scan; false when there is none.
  mutating func takeScan() -> Bool {
    defer { mustScan = false }
    return mustScan
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
