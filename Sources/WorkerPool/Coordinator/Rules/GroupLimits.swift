import Jobs

/// How many jobs of each queue and limit key are in hand, and how many may be.
struct GroupLimits {
  let queues: QueueLimits
  /// Jobs in hand by the groups that limit them.
  private(set) var inHand: [JobGroup: Int] = [:]

  init(queues: QueueLimits = QueueLimits()) { self.queues = queues }

  /// The groups of a job that limit how many run at a time.
  func limited(of job: WindowJob) -> [JobGroup] {
    var groups: [JobGroup] = []
    if !queues.isEmpty, queues.limit(of: job.queue) != nil { groups.append(.queue(job.queue)) }
    if let key = job.limitKey { groups.append(.key(key)) }
    return groups
  }

  /// How many jobs of a group may be in hand; nil for any number. The limit of a key comes from the job.
  func limit(of group: JobGroup, for job: WindowJob) -> Int? {
    switch group {
    case .queue(let queue): queues.isEmpty ? nil : queues.limit(of: queue)
    case .key: job.limit
    }
  }

  func count(in group: JobGroup) -> Int { inHand[group, default: 0] }

  /// These groups' job is handed out.
  mutating func take(_ groups: [JobGroup]) { for group in groups { inHand[group, default: 0] += 1 } }

  /// A job of the group has left its worker's hand.
  mutating func release(_ group: JobGroup) {
    guard let count = inHand[group] else { return }
    inHand[group] = count > 1 ? count - 1 : nil
  }
}
