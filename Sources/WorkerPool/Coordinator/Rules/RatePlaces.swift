/// Places of a kind's rate that the store keeps for this pool.
struct RatePlaces: Equatable, Sendable {
  /// How many places jobs have not begun in. Below zero where jobs have begun without a place: they were in hand when
  /// the kind got its rate.
  var count = 0
  /// Whether the store is asked for places, and has not answered.
  var isAsked = true
  /// When the store has room again, after it had none.
  var retryAt: Double?
}
