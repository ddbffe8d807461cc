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
final class Probes: Sendable {
  private let readiness: PoolQuestion
  private let metrics: PoolQuestion

  /// Seconds that the pool has to answer. Those who ask whether it is ready often wait for two seconds, and Prometheus
  /// waits ten for metrics. The pool gives its store one, and then answers with the last counts.
  private static let timeout = (readiness: 1.5, metrics: 8.0)

  init(_ monitor: PoolMonitor) {
    readiness = PoolQuestion(monitor, within: Self.timeout.readiness)
    metrics = PoolQuestion(monitor, within: Self.timeout.metrics)
  }

  func answer(_ probe: Probe, _ answer: @escaping @Sendable (HTTPResponse) -> Void) {
    switch probe {
    case .alive: answer(Self.alive)
    case .ready: readiness.ask { answer(Self.readiness($0)) }
    case .metrics: metrics.ask { answer(Self.metrics($0)) }
    }
  }

  /// The program answers, which is all that is asked.
  static let alive = plain(200, "alive")

  /// Says nothing private, not even why: every program may ask.
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
}

/// What is asked of the pool for many clients together.
///
/// It has a queue of its own: no page waits for a pool that is silent, and no question for one that may take longer.
///
/// `@unchecked Sendable`: what changes is used on the queue only.
private final class PoolQuestion: @unchecked Sendable {
  private let queue = DispatchQueue(label: "workerpool-web.probes")
  private let monitor: PoolMonitor
  private let timeout: Double
  private var observation: PoolMonitor.Observation?
  private var heardAt = -Double.infinity

  /// Seconds for which an answer of the pool is used again: everybody may ask whether it is ready, and a flood of such
  /// questions must not reach the pool.
  private static let lifetime = 1.0

  init(_ monitor: PoolMonitor, within timeout: Double) {
    self.monitor = monitor
    self.timeout = timeout
  }

  /// - Parameter answer: gets what was heard on the queue; nil when the pool has not answered in time.
  func ask(_ answer: @escaping @Sendable (PoolMonitor.Observation?) -> Void) {
    queue.async { [self] in
      if Clock.now - heardAt >= Self.lifetime {
        observation = monitor.ask(within: timeout)
        heardAt = Clock.now
      }
      answer(observation)
    }
  }
}
