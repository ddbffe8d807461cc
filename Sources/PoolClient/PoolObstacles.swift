/// What keeps jobs of a pool from being handed out now: the answer to ``StatusRequest/Command/explain`` without jobs.
///
/// ```swift
/// import PoolClient
///
/// let reply = try StatusClient(queue: "queue/").request(StatusRequest(.explain))
/// for obstacle in reply.obstacles?.obstacles ?? [] { print(obstacle.reason, obstacle.name ?? "") }
/// ```
///
/// The pool decides each of them as it does when it hands out a job.
public struct PoolObstacles: Codable, Equatable, Sendable {
  /// The beginning of the URIs of the pool's jobs, which tells its store from others.
  public var uriPrefix: String
  /// The kinds that the plugins of the pool run.
  public var kinds: [String]
  /// What keeps all jobs, those of a kind, of a queue or of a limit key; the first that fits a job keeps it.
  public var obstacles: [JobObstacle]

  package init(uriPrefix: String, kinds: [String], obstacles: [JobObstacle]) {
    self.uriPrefix = uriPrefix
    self.kinds = kinds
    self.obstacles = obstacles
  }
}
