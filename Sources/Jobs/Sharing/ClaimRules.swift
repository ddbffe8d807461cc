import CoreData
/// How many jobs of a kind all pools together may have claimed. Pools that share a store should have the same rules:
/// each applies its own to the claims of all, so a pool with looser rules exceeds the limits of the others.
public struct ClaimRules: Sendable {
  /// How many jobs of the kind may be claimed at a time; nil is any number.
  public var limit: Int?
  /// How many jobs of the kind may begin in a period, and what the pool knows of it; nil is any number.
  public var rate: PoolRate?
  /// How many jobs of the same limit key may be claimed at a time, for those that do not say it themselves. Default 1.
  public var limitPerKey = 1
  /// The limit of a queue by its name; nil where no queue has any.
  public var queueLimit: (@Sendable (String) -> Int?)?

  /// Rules without any limit but that of keys.
  public init() {}

  /// Whether something bounds all claims of the kind.
  var isLimited: Bool { limit != nil || rate != nil || queueLimit != nil }
}

/// What came of a claim.
///
/// ```text
/// jobs          what the pool has claimed and not handed out, also by earlier calls
/// areMore       true: ask again at once, when these are handed out
/// retryAfter    set: a limit or a rate holds jobs back; ask again after that time
/// ```
public struct ClaimResult: Sendable {
  /// All that the pool has claimed, with those of earlier calls.
  public var jobs: [JobSummary]
  /// Whether other jobs may be left.
  public var areMore: Bool
  /// Limits or a rate keep jobs from being claimed: the seconds after which to ask again.
  public var retryAfter: Double?
}
