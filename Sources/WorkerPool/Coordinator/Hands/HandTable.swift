/// The hands of all workers, and an index of those that the coordinator looks for with each job: which workers hold
/// jobs, which rest, and which take further jobs. So a job costs the same however many workers are idle.
///
/// Hands change by ``add(_:_:)``, ``remove(_:)`` and ``change(_:_:)`` only, which keep the index.
struct HandTable {
  /// A worker that takes further jobs. The one that holds least comes first, of several the one that came up first.
  struct Taker: Comparable {
    let held: Int
    let id: WorkerID

    static func < (one: Taker, other: Taker) -> Bool {
      (one.held, one.id.number) < (other.held, other.id.number)
    }
  }

  /// The workers that run the same kinds: mostly those of one plugin. It stays when they have gone.
  struct Group {
    let kinds: Set<String>
    /// Those that take further jobs, in order.
    fileprivate(set) var takers: [Taker] = []
  }

  /// What the index knows of a hand; the default is that of none.
  private struct Standing: Equatable {
    var held = 0
    var takes = false
    var rests = false

    init(_ hand: WorkerHand?) {
      guard let hand else { return }
      (held, takes, rests) = (hand.held.count, hand.freeCredit > 0, hand.restsUntil != nil)
    }
  }

  private(set) var all: [WorkerID: WorkerHand] = [:]
  /// Those that hold jobs.
  private(set) var busy: Set<WorkerID> = []
  /// Those that get no jobs for a while.
  private(set) var resting: Set<WorkerID> = []
  private(set) var groups: [Group] = []
  /// The index of each worker's group.
  private var groupIndices: [WorkerID: Int] = [:]

  init(_ hands: [WorkerID: WorkerHand] = [:]) {
    for (id, hand) in hands { add(id, hand) }
  }

  subscript(id: WorkerID) -> WorkerHand? { all[id] }

  /// Whether any worker takes further jobs.
  var hasTakers: Bool { groups.contains { !$0.takers.isEmpty } }

  mutating func add(_ id: WorkerID, _ hand: WorkerHand) {
    remove(id)
    all[id] = hand
    if let index = groups.firstIndex(where: { $0.kinds == hand.kinds }) {
      groupIndices[id] = index
    } else {
      groupIndices[id] = groups.count
      groups.append(Group(kinds: hand.kinds))
    }
    move(id, from: Standing(nil), to: Standing(hand))
  }

  @discardableResult mutating func remove(_ id: WorkerID) -> WorkerHand? {
    guard let hand = all.removeValue(forKey: id) else { return nil }
    move(id, from: Standing(hand), to: Standing(nil))
    groupIndices[id] = nil
    return hand
  }

  /// Lets a hand change, if there is one for the worker.
  @discardableResult mutating func change<Value>(
    _ id: WorkerID, _ change: (inout WorkerHand) -> Value
  ) -> Value? {
    guard let index = all.index(forKey: id) else { return nil }
    let before = Standing(all.values[index])
    // In place: a copy of the hand would copy the keys of its jobs.
    let value = change(&all.values[index])
    let after = Standing(all.values[index])
    if after != before { move(id, from: before, to: after) }
    return value
  }

  private mutating func move(_ id: WorkerID, from old: Standing, to new: Standing) {
    if (old.held > 0) != (new.held > 0) { if new.held > 0 { busy.insert(id) } else { busy.remove(id) } }
    if old.rests != new.rests { if new.rests { resting.insert(id) } else { resting.remove(id) } }
    guard let group = groupIndices[id] else { return }
    if old.takes { groups[group].takers.remove(at: place(of: Taker(held: old.held, id: id), in: group)) }
    if new.takes {
      let taker = Taker(held: new.held, id: id)
      groups[group].takers.insert(taker, at: place(of: taker, in: group))
    }
  }

  /// Where a taker is in its group, or where it belongs. A thousand takers are 16 KB, which an array moves in less than
  /// a microsecond.
  private func place(of taker: Taker, in group: Int) -> Int {
    let takers = groups[group].takers
    var (low, high) = (0, takers.count)
    while low < high {
      let middle = (low + high) / 2
      if takers[middle] < taker { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

/// As the dictionary of the hands: the index is made anew.
extension HandTable: Codable {
  init(from decoder: any Decoder) throws { self.init(try [WorkerID: WorkerHand](from: decoder)) }
  func encode(to encoder: any Encoder) throws { try all.encode(to: encoder) }
}
