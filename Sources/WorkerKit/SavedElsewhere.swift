import WorkerProtocol

/// The objects that other workers have saved. Beyond 10,000 it drops them all and only notes that there were more.
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
