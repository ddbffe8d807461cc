import WorkerProtocol

/// What a plugin says about itself when called with `describe`.
public struct PluginDescription: Codable, Equatable, Sendable {
  /// A kind of job that the plugin runs.
  public struct Kind: Codable, Equatable, Sendable {
    public var kind: String
    /// Seconds that one attempt may take; `nil`: as long as it needs.
    public var timeout: Double?
    /// How often a job that throws is tried; `nil`: the pool's default.
    public var maxAttempts: Int?
    /// How many workers a job may kill; `nil`: the pool's default.
    public var maxCrashes: Int?
    /// The longest wait after the first failure, in seconds, and the longest of all; `nil`: the pool's default.
    public var backoff: Double?
    public var maxBackoff: Double?
    /// How many jobs of this kind may run at a time in the whole pool; `nil`: as many as there are workers.
    public var limit: Int?
    /// How many jobs of one limit key may run at a time, where the job does not say; `nil`: 1.
    public var limitPerKey: Int?
    /// How many jobs of this kind may begin in a time; `nil`: as many as there are.
    public var rate: JobRate?

    public init(kind: String, timeout: Double? = nil, maxAttempts: Int? = nil, limit: Int? = nil) {
      self.kind = kind
      self.timeout = timeout
      self.maxAttempts = maxAttempts
      self.limit = limit
    }

    /// Why these cannot be a kind's defaults, if they cannot.
    var problem: String? {
      let counts: [(String, Int?)] = [
        ("maxAttempts", maxAttempts), ("maxCrashes", maxCrashes), ("limit", limit), ("limitPerKey", limitPerKey),
        ("rate.jobs", rate?.jobs),
      ]
      if let (name, _) = counts.first(where: { $0.1.map { $0 < 1 } == true }) {
        return "\(name) of \(kind) is less than 1"
      }
      let times: [(String, Double?)] = [
        ("timeout", timeout), ("backoff", backoff), ("maxBackoff", maxBackoff), ("rate.period", rate?.period),
      ]
      if let (name, _) = times.first(where: { $0.1.map { !($0 > 0 && $0.isFinite) } == true }) {
        return "\(name) of \(kind) is no number of seconds above 0"
      }
      return nil
    }
  }

  public var name: String
  public var version: String
  public var protocolVersions: [Int]
  public var kinds: [Kind]
  /// Whether its processes answer `PING` at any time, even while a job runs; `nil`: no.
  public var heartbeat: Bool?

  public init(name: String, version: String, protocolVersions: [Int], kinds: [Kind], heartbeat: Bool? = nil) {
    self.name = name
    self.version = version
    self.protocolVersions = protocolVersions
    self.kinds = kinds
    self.heartbeat = heartbeat
  }
}

/// A plugin that can be started: an executable and its description.
struct Plugin: Equatable, Sendable {
  let name: String
  let path: String
  let description: PluginDescription
}

/// Why a plugin cannot be used, or why one of its processes did not come up.
enum StartFailure: Error, Equatable, Sendable, CustomStringConvertible {
  /// The file cannot be executed.
  case notExecutable(path: String, reason: String)
  /// `describe` did not print what it must.
  case badDescription(path: String, reason: String)
  /// It ended before it said `HELLO`; with its last lines of standard error.
  case exitedBeforeHello(Death, lastLines: [String])
  /// It speaks other versions of the protocol only.
  case wrongVersion([Int])
  /// It said nothing for so many seconds.
  case silent(seconds: Double)
  /// The machine, or the pool, was out of something that a process needs: of what, and where the limit is set.
  case shortage(String)
  /// Its file could not be started within so many seconds: its file system hangs.
  case hangs(path: String, seconds: Double)
  /// It said something else than a good `HELLO`.
  case refused(Refusal)

  var isHang: Bool { if case .hangs = self { true } else { false } }

  var description: String {
    switch self {
    case .notExecutable(let path, let reason): "\(path) cannot be executed: \(reason)"
    case .badDescription(let path, let reason): "\(path) describe: \(reason)"
    case .exitedBeforeHello(let death, let lines):
      "it \(death) before it said hello" + (lines.isEmpty ? "" : "; its last words: \(lines.joined(separator: " | "))")
    case .wrongVersion(let versions):
      "it speaks protocol version \(versions.map(String.init).joined(separator: ", ")), this pool speaks "
        + "\(ProtocolVersion.supported.lowerBound) to \(ProtocolVersion.supported.upperBound)"
    case .silent(let seconds): "it did not say hello within \(seconds) seconds"
    case .shortage(let reason): reason
    case .hangs(let path, let seconds):
      "\(path) could not be started within \(Int(seconds)) seconds: its file system does not answer"
    case .refused(let refusal): "its hello was refused because of its \(refusal.rawValue)"
    }
  }
}
