/// Limits of a pool that hold however it is asked: by an option, a request or a signal.
///
/// ```swift
/// import PoolClient
///
/// let wanted = min(2_000, PoolLimit.workers)
/// _ = try StatusClient(queue: "queue/").request(StatusRequest(.scale, count: wanted))
/// ```
public enum PoolLimit {
  /// The most worker processes, in all and of one plugin: 1000. A request for more is refused.
  public static let workers = 1000
}
