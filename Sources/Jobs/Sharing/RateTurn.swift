import CoreData
import LinuxSystem

/// A pool's turn at the rate of a kind: reads what all pools have begun and which places they hold, adds its own news,
/// and writes both with the save of the context.
///
/// ```text
/// rate: 10 jobs in 60 s
/// row "rate index"      begun: 4 at 12:00:05, 2 at 12:00:40     held: pool 1 has 3
/// room                  10 − 6 − 3 = 1
/// pool 2's turn         takes 1 place                           held: pool 1 has 3, pool 2 has 1
/// later                 its job has begun at 12:00:51           begun: …, 1 at 12:00:51; pool 2 holds none
/// 12:01:05              the first four are a minute old         room 4
/// ```
///
/// Like each turn it is decided by the row's version: of two pools that take places at the same time one saves, and the
/// other begins again (`PoolTurn`).
struct RateTurn {
  private let turn: PoolTurn
  private let pool: PoolRate
  private let member: Int64
  private let news: PoolRate.News
  private var shared: SharedRate
  /// What the store's clock showed when the turn began.
  private let now: Double
  private var claimed: [JobKey] = []
  private var places = 0
  private let ended: Set<JobKey>
  private let lost: Set<JobKey>
  /// Whether the row differs from what is known now.
  private(set) var hasNews = false

  /// Reads the row and adds the pool's news to it: which jobs have begun, which left no effect, and which have ended
  /// before the pool heard of their beginning.
  init(
    _ pool: PoolRate, of kind: String, for member: Int64, _ store: JobStore, in context: NSManagedObjectContext
  ) throws {
    self.pool = pool
    self.member = member
    news = pool.takeNews()
    turn = try PoolTurn.begin("rate \(kind)", in: context)
    (ended, lost) = try Self.findEnded(news.held, of: member, store, in: context)
    // The clock is read last: all that is dated here, and in the row, has happened by then. It is read between two
    // looks at this machine's, so that beginnings are dated at most a round trip later than they were, and never
    // earlier. One that is taken back is looked for where it was written, or before that.
    let uptime = Clock.now
    now = try store.readClock().timeIntervalSince1970
    shared = SharedRate(pool.rate, turn.text ?? "", now: now)
    for beginning in news.begun { shared.begin(1, at: now - (uptime - beginning.uptime)) }
    for beginning in news.takenBack { shared.takeBack(from: now - (Clock.now - beginning)) }
    if !ended.isEmpty { shared.begin(ended.count, at: now) }
    let placesLeft = news.held.count - ended.count - lost.count + news.free
    hasNews =
      !news.begun.isEmpty || !news.takenBack.isEmpty || !ended.isEmpty || shared.wasAhead
      || shared.held[member, default: 0] != placesLeft
    shared.hold(placesLeft, for: member)
    try dateBeginnings(ofGone: store, in: context)
  }

  /// Looks for held jobs that are no longer claimed by this pool. They have run, and the pool has not heard of their
  /// beginning yet; or they were given back or cancelled, and their places are free.
  private static func findEnded(
    _ held: Set<JobKey>, of member: Int64, _ store: JobStore, in context: NSManagedObjectContext
  ) throws -> (ended: Set<JobKey>, lost: Set<JobKey>) {
    if held.isEmpty { return ([], []) }
    let lost = held.subtracting(try keys(held, where: JobStore.claimed(by: member), store, in: context))
    if lost.isEmpty { return ([], []) }
    let states = [JobState.succeeded, .retryable, .scheduled, .dead].map { NSNumber(value: $0.rawValue) }
    let ended = try keys(lost, where: NSPredicate(format: "state IN %@", states), store, in: context)
    return (ended, lost.subtracting(ended))
  }

  private static func keys(
    _ jobs: Set<JobKey>, where condition: NSPredicate, _ store: JobStore, in context: NSManagedObjectContext
  ) throws -> Set<JobKey> {
    let request = NSFetchRequest<NSManagedObjectID>(entityName: PoolJob.entityName)
    request.resultType = .managedObjectIDResultType
    request.predicate = NSCompoundPredicate(andPredicateWithSubpredicates: [
      NSPredicate(format: "self IN %@", jobs.compactMap(store.objectID(job:))), condition,
    ])
    return Set(try context.fetch(request).compactMap(\.key))
  }

  /// It is not known which jobs of a dead pool have begun in its places, so all of the places count as begun now: for a
  /// period fewer jobs may begin than the rate allows, and never more. In a SQLite file all other pools are dead.
  private mutating func dateBeginnings(ofGone store: JobStore, in context: NSManagedObjectContext) throws {
    let others = shared.held.keys.filter { $0 != member }
    if others.isEmpty { return }
    let living = Set(try store.members(in: context).map(\.identity))
    let gone = others.filter { !living.contains($0) }
    if gone.isEmpty { return }
    // They may have begun jobs since the clock was read.
    let now = try store.readClock().timeIntervalSince1970
    for other in gone.sorted() { shared.beginAll(of: other, now: now) }
    hasNews = true
  }

  /// How many places may be taken.
  var room: Int { shared.room }

  /// Seconds until one more may be taken; nil if jobs that have not begun have all places.
  var wait: Double? { shared.wait(now: now) }

  /// Writes the row, without saving: each of `jobs` takes a place, and `places` are taken for jobs to come.
  mutating func write(claiming jobs: [JobKey] = [], taking places: Int = 0) {
    claimed = jobs
    self.places = places
    shared.hold(shared.held[member, default: 0] + jobs.count + places, for: member)
    turn.take(keeping: shared.text)
  }

  /// The context is saved.
  func saved() { pool.told(news, claimed: claimed, places: places, ended: ended, lost: lost) }
}

/// What came of asking for places of a rate.
public struct TakenPlaces: Equatable, Sendable {
  /// How many places the pool has got.
  public var count: Int
  /// If these are not all that it wanted, or if none is left: the seconds until there is another; nil where jobs that
  /// have not begun have all places.
  public var retryAfter: Double?
}

extension JobStore {
  /// Takes places for jobs of a kind with a rate that begin soon, and writes which have begun. Saves, if there is
  /// anything to write, so that a crash loses no place.
  ///
  /// After too many conflicts no place is taken, and the caller asks again.
  ///
  /// - Parameters:
  ///   - count: how many places are wanted; with 0 the store is only told.
  ///   - member: the identity of the pool. Another one's places count as begun now, unless it is a ``PoolMember`` that
  ///     lives.
  public func takePlaces(
    _ count: Int, of kind: String, _ pool: PoolRate, for member: Int64, in context: NSManagedObjectContext
  ) throws -> TakenPlaces {
    do {
      return try retryingConflicts(in: context) {
        var turn = try RateTurn(pool, of: kind, for: member, self, in: context)
        let places = min(count, turn.room)
        let isUsedUp = places < count || turn.room == places
        if places > 0 || turn.hasNews {
          turn.write(taking: places)
          try context.save()
          turn.saved()
        } else {
          context.rollback()
        }
        return TakenPlaces(count: places, retryAfter: isUsedUp ? turn.wait.map { max(0, $0) } : nil)
      }
    } catch is EndlessConflicts {
      return TakenPlaces(count: 0)
    }
  }

  /// Tells the other pools which jobs of a kind with a rate have begun, and whose places are free. Saves, if there is
  /// anything to tell. Called a moment after a beginning, so that several go together.
  ///
  /// - Returns: whether claimed jobs of this pool hold places that have not begun.
  public func tellBeginnings(
    _ pool: PoolRate, of kind: String, for member: Int64, in context: NSManagedObjectContext
  ) throws -> Bool {
    _ = try takePlaces(0, of: kind, pool, for: member, in: context)
    return pool.isHolding
  }
}
