import WorkerProtocol

/// What other workers have saved: a bounded number of objects; beyond that only that there were more.
struct SavedElsewhere: Equatable, Sendable {
  static let limit = 10_000
  private(set) var objects: [SavedChange: [ObjectURI]] = [:]
  private(set) var isOverfull = false
  private var count = 0

  mutating func add(_ change: SavedChange, _ uris: [ObjectURI]) {
    count += uris.count
    isOverfull = isOverfull || count > Self.limit
    if isOverfull { objects = [:] } else { objects[change, default: []] += uris }
  }
}
