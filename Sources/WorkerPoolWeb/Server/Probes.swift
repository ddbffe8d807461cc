import Dispatch
import LinuxSystem
import PoolClient
import PoolMetrics

/// What programs that look after a pool ask for, by its path.
enum Probe: String {
  case alive = "/healthz"
  case ready = "/readyz"
  case metrics = "/metrics"
}

/// Answers programs that look after a pool: probes of proxies, monitors and Kubernetes, and Prometheus.
///
/// They have a queue of their own, so that no page waits for a pool that is silent.
///
/// `@unchecked Sendable`: what changes is used on the queue only.
final class Probes: @unchecked Sendable {
  private let queue = DispatchQueue(label: "workerpool-web.probes")
  private let monitor: PoolMonitor
  private var observation: PoolMonitor.Observation?
  private var heardAt = -Double.infinity

  /// Seconds for which an answer of the pool is used again: everybody may ask whether it is ready, and a flood of such
  /// questions must not reach the pool.
  private static let lifetime = 1.0
  /// Seconds that the pool has to answer. It waits five for a store that is locked; Prometheus waits ten for metrics.
  private static let timeout = 8.0

  init(_ monitor: PoolMonitor) { self.monitor = monitor }

  func answer(_ probe: Probe, _ answer: @escaping @Sendable (HTTPResponse) -> Void) {
    queue.async { [self] in
      switch probe {
      case .alive: answer(Self.alive)
      case .ready: answer(Self.readiness(observe()))
      case .metrics: answer(Self.metrics(observe()))
      }
    }
  }

  /// The program answers, which is all that is asked.
  static let alive = plain(200, "alive")

  /// Says nothing private, not even why: anybody may ask.
  static func readiness(_ observation: PoolMonitor.Observation?) -> HTTPResponse {
    guard let observation, observation.isRunning, let status = observation.status else {
      return plain(503, "not ready: no pool answers")
    }
    switch status.phase {
    case "running": return plain(200, "ready")
    case "stopping": return plain(503, "not ready: the pool is stopping")
    default: return plain(503, "not ready: the pool is starting")
    }
  }

  /// Also without a pool there is an answer: it says that the pool is not up.
  static func metrics(_ observation: PoolMonitor.Observation?) -> HTTPResponse {
    let status = observation.flatMap { $0.isRunning ? $0.status : nil }
    let text = status.map(PrometheusText.text) ?? PrometheusText.textWithoutPool
    return HTTPResponse(200, "text/plain; version=0.0.4; charset=utf-8", Array(text.utf8))
  }

  static func plain(_ status: UInt32, _ line: String) -> HTTPResponse {
    HTTPResponse(status, "text/plain; charset=utf-8", Array("\(line)\n".utf8))
  }

  private func observe() -> PoolMonitor.Observation? {
    if Clock.now - heardAt < Self.lifetime { return observation }
    observation = monitor.ask(within: Self.timeout)
    heardAt = Clock.now
    return observation
  }
}
