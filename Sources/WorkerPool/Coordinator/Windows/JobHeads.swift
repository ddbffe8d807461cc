import Jobs

/// The best job of each window that has one, in order, so that picking does not visit every window.
struct JobHeads {
  private struct Head {
    let position: JobPosition
    let window: WindowKey
  }

  /// By lane; the best first.
  private var lanes: [String: [Head]] = [:]

  /// The lanes that have a job.
  var lanesWithJobs: [String] { lanes.compactMap { $0.value.isEmpty ? nil : $0.key } }

  /// The window of a lane with the best job of a wanted kind.
  func best(in lane: String, isWanted: (String) -> Bool) -> WindowKey? {
    lanes[lane]?.first { isWanted($0.window.kind) }?.window
  }

  /// The position of the best job of a wanted kind.
  func best(isWanted: (String) -> Bool) -> JobPosition? {
    lanes.values.compactMap { $0.first { isWanted($0.window.kind) }?.position }.min()
  }

  /// Moves a window to where its best job belongs; nil takes it out.
  mutating func move(_ window: WindowKey, from old: JobPosition?, to new: JobPosition?) {
    if let old, let index = index(of: window, at: old) { lanes[window.lane]?.remove(at: index) }
    guard let new else { return }
    let insertion = insertionIndex(new, window.lane)
    lanes[window.lane, default: []].insert(Head(position: new, window: window), at: insertion)
  }

  private func index(of window: WindowKey, at position: JobPosition) -> Int? {
    guard let heads = lanes[window.lane] else { return nil }
    return heads[insertionIndex(position, window.lane)...].firstIndex { $0.window == window }
  }

  /// The index of the first head that does not run before a position.
  private func insertionIndex(_ position: JobPosition, _ lane: String) -> Int {
    guard let heads = lanes[lane] else { return 0 }
    var low = 0
    var high = heads.count
    while low < high {
      let middle = (low + high) / 2
      if heads[middle].position < position { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
