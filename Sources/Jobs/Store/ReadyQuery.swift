import CoreData

/// Jobs of any kind of which only some run at a time.
public enum JobGroup: Hashable, Sendable {
  /// The jobs of a queue.
  case queue(String)
  /// The jobs of a limit key.
  case key(String)

  /// Byte by byte, as the store's indexes tell groups apart.
  public static func == (one: JobGroup, other: JobGroup) -> Bool {
    switch (one, other) {
    case (.queue(let one), .queue(let other)), (.key(let one), .key(let other)): ExactText(one) == ExactText(other)
    default: false
    }
  }

  /// Hashes the bytes of the name, as `==` compares them.
  public func hash(into hasher: inout Hasher) {
    switch self {
    case .queue(let name): hasher.combine(ExactText(name))
    case .key(let name): hasher.combine(ExactText(name))
    }
  }
}

/// Which ready jobs are asked for.
///
/// ```swift
/// let store = try JobStore(url: url, model: model)
/// let jobs = try store.readyJobs(ReadyQuery(kind: "index", without: [.queue("nightly")], limit: 50), in: context)
/// print(jobs.map(\.key))
/// ```
///
/// With it the coordinator asks for the next jobs of its window: of one kind, behind the last one that it has, without
/// the queues and keys that are full.
public struct ReadyQuery: Hashable, Sendable {
  /// Only jobs of this kind.
  public var kind: String
  /// Only jobs of these groups.
  public var groups: Set<JobGroup>
  /// Not jobs of these groups, which are few.
  public var without: Set<JobGroup>
  /// Only jobs behind this one; nil: from the first on.
  public var after: JobPosition?
  /// How many at most.
  public var limit: Int
  /// How many jobs the pool claims at most, in a store that other pools use, too.
  public var claims: Int
  /// The round of claims that the query belongs to. Answers to queries of an earlier round do not count: they may list
  /// jobs that were given back since.
  public var round = 0

  /// A query for jobs of a kind, in all groups by default.
  public init(
    kind: String, groups: Set<JobGroup> = [], without: Set<JobGroup> = [], after: JobPosition? = nil, limit: Int,
    claims: Int? = nil
  ) {
    self.kind = kind
    self.groups = groups
    self.without = without
    self.after = after
    self.limit = limit
    self.claims = claims ?? limit
  }
}

extension ReadyQuery {
  /// The predicates of the groups that the query names or leaves out, sorted, so that the same groups make the same
  /// statement.
  var conditions: [NSPredicate] {
    var conditions = groups.map { group in
      switch group {
      case .queue(let name): NSPredicate(format: "queue == %@", name)
      case .key(let key): NSPredicate(format: "limitKey == %@", key)
      }
    }
    let queues = without.compactMap { if case .queue(let name) = $0 { name } else { nil } }
    if !queues.isEmpty { conditions.append(NSPredicate(format: "NOT queue IN %@", queues.sorted())) }
    let keys = without.compactMap { if case .key(let key) = $0 { key } else { nil } }
    if !keys.isEmpty { conditions.append(NSPredicate(format: "limitKey == nil OR NOT limitKey IN %@", keys.sorted())) }
    return conditions
  }
}
