import Jobs
import WorkerProtocol

/// Keeps what the windows and the kinds determine: the head of each window, and which kinds have jobs.
extension Coordinator {
  /// Updates what a window determines. Called after every change of its jobs.
  mutating func changed(_ key: WindowKey) {
    guard let window = windows[key] else { return }
    if window.runnable.count != window.counted {
      kinds[key.kind]?.runnable += window.runnable.count - window.counted
      window.counted = window.runnable.count
      noteActivity(of: key.kind)
    }
    moveHead(of: key)
    list(key)
  }

  mutating func moveHead(of key: WindowKey) {
    guard let window = windows[key] else { return }
    let head = kinds[key.kind]?.isOffered == true ? window.next?.position : nil
    guard head != window.head else { return }
    heads.move(key, from: window.head, to: head)
    window.head = head
  }

  /// Offers a kind's jobs or takes them back, as its limit, its rate and the pauses say.
  mutating func refresh(_ kind: String) {
    noteActivity(of: kind)
    guard let state = kinds[kind] else { return }
    // Most kinds have neither.
    if state.isOffered, state.rules.limit == nil, state.pastStarts == nil, pauses.kinds.isEmpty { return }
    let obstacle = obstacle(ofKind: kind)
    let hasPlace = hasPlace(for: kind)
    var isRatedOut = !hasPlace
    if case .rate = obstacle { isRatedOut = true }
    if isRatedOut { ratedOut.insert(kind) } else { ratedOut.remove(kind) }
    let isOffered = obstacle == nil && hasPlace
    guard isOffered != state.isOffered else { return }
    kinds[kind]?.isOffered = isOffered
    for lane in weights.lanes { moveHead(of: WindowKey(kind: kind, lane: lane)) }
  }

  private mutating func noteActivity(of kind: String) {
    guard let state = kinds[kind] else { return }
    let isActive = state.runnable > 0 || state.inHand > 0 || !state.suspects.isEmpty
    guard isActive != state.isActive else { return }
    kinds[kind]?.isActive = isActive
    if isActive { activeKinds.insert(kind) } else { activeKinds.remove(kind) }
  }

  /// A job that may have killed its worker together with others runs alone next time.
  mutating func suspect(_ job: WindowJob) {
    guard kinds[job.kind] != nil else { return }
    kinds[job.kind]?.suspects.append(job)
    suspectKeys.insert(job.key)
    noteActivity(of: job.kind)
  }

  mutating func list(_ key: WindowKey) {
    guard let window = windows[key], !window.isListed else { return }
    window.isListed = true
    listed.append(key)
  }
}
