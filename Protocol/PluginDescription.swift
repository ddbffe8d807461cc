import Foundation

/// What a plugin says about itself when called with `describe`.
public struct PluginDescription: Codable, Equatable, Sendable {
  /// A kind of job that the plugin runs.
  public struct Kind: Codable, Equatable, Sendable {
    /// The name of the kind.
    public var kind: String
    /// Seconds that one attempt may take; `nil`: as long as it needs.
    public var timeout: Double?
    /// Seconds of processor time that one attempt may use; `nil`: as much as it needs.
    public var processorTime: Double?
    /// How many attempts of a job may fail before it is dead; `nil`: the pool's default.
    public var maxAttempts: Int?
    /// How many workers a job may kill; `nil`: the pool's default.
    public var maxCrashes: Int?
    /// The wait after the first failure, in seconds; `nil`: the pool's default.
    public var backoff: Double?
    /// The wait between two attempts grows up to this, in seconds; `nil`: the pool's default.
    public var maxBackoff: Double?
    /// How many jobs of this kind may run at a time in the whole pool; `nil`: as many as there are workers.
    public var limit: Int?
    /// How many jobs of one limit key may run at a time, where the job does not say; `nil`: 1.
    public var limitPerKey: Int?
    /// How many jobs of this kind may begin in a period; `nil`: any number.
    public var rate: JobRate?

    /// The keys of its JSON.
    package enum CodingKeys: CodingKey {
      case kind, timeout, processorTime, maxAttempts, maxCrashes, backoff, maxBackoff, limit, limitPerKey, rate
    }

    /// Describes a kind with the most usual of its defaults; the others stay nil.
    public init(kind: String, timeout: Double? = nil, maxAttempts: Int? = nil, limit: Int? = nil) {
      self.kind = kind
      self.timeout = timeout
      self.maxAttempts = maxAttempts
      self.limit = limit
    }

    /// Why these cannot be a kind's defaults, if they cannot.
    package var problem: String? {
      let counts: [(String, Int?)] = [
        ("maxAttempts", maxAttempts), ("maxCrashes", maxCrashes), ("limit", limit), ("limitPerKey", limitPerKey),
        ("rate.jobs", rate?.jobs),
      ]
      if let (name, _) = counts.first(where: { $0.1.map { $0 < 1 } == true }) {
        return "\(name) of \(kind) is less than 1"
      }
      let times: [(String, Double?)] = [
        ("timeout", timeout), ("processorTime", processorTime), ("backoff", backoff), ("maxBackoff", maxBackoff),
        ("rate.period", rate?.period),
      ]
      if let (name, _) = times.first(where: { $0.1.map { !($0 > 0 && $0.isFinite) } == true }) {
        return "\(name) of \(kind) is not a number of seconds above 0"
      }
      return nil
    }
  }

  /// What a plugin's processes need beside the store, its model and the queue directory, where the pool confines them.
  /// All paths are absolute; a directory stands for all below it.
  public struct Needs: Codable, Equatable, Sendable {
    /// What they read.
    public var read: [String]?
    /// What they read and write.
    public var write: [String]?
    /// The programs that they start.
    public var execute: [String]?
    /// Whether they use networks.
    public var network: Bool?

    /// The keys of its JSON.
    package enum CodingKeys: CodingKey { case read, write, execute, network }

    /// Needs nothing unless told.
    public init(read: [String]? = nil, write: [String]? = nil, execute: [String]? = nil, network: Bool? = nil) {
      self.read = read
      self.write = write
      self.execute = execute
      self.network = network
    }

    /// All that one of these plugins needs.
    package init(all needs: [Needs]) {
      func places(_ path: KeyPath<Needs, [String]?>) -> [String]? {
        let paths = needs.flatMap { $0[keyPath: path] ?? [] }
        return paths.isEmpty ? nil : Set(paths).sorted()
      }
      self.init(
        read: places(\.read), write: places(\.write), execute: places(\.execute),
        network: needs.contains { $0.network == true } ? true : nil)
    }

    package var isNothing: Bool { self == Needs() }

    /// Why these cannot be needs, if they cannot.
    package var problem: String? {
      for (name, places) in [("read", read), ("write", write), ("execute", execute)] {
        if let place = places?.first(where: { !$0.hasPrefix("/") }) {
          return "\"\(place)\" in needs.\(name) does not begin with /"
        }
      }
      return nil
    }
  }

  /// The NAME in its file's `worker-NAME`.
  public var name: String
  /// Any text, for `status`.
  public var version: String
  /// The major versions of the protocol that it speaks.
  public var protocolVersions: [Int]
  /// The kinds that it runs, at least one.
  public var kinds: [Kind]
  /// Whether its processes answer `PING` at any time, even while a job runs; `nil`: no.
  public var heartbeat: Bool?
  /// Whether the pool writes the rows of its jobs where a process asks for it, and a file with each job before it runs;
  /// `nil`: no.
  public var settledByPool: Bool?
  /// Whether its processes go on when the pool's program is replaced in place (`workerpool reexec`): they take the
  /// kernel's signal of the pool's death for one only if their parent has changed; `nil`: no.
  public var survivesReexec: Bool?
  /// What its processes need where the pool confines them; `nil`: nothing but the store and the queue directory.
  public var needs: Needs?

  /// The keys of its JSON.
  package enum CodingKeys: CodingKey {
    case name, version, protocolVersions, kinds, heartbeat, settledByPool, survivesReexec, needs
  }

  /// Describes a plugin.
  public init(name: String, version: String, protocolVersions: [Int], kinds: [Kind], heartbeat: Bool? = nil) {
    self.name = name
    self.version = version
    self.protocolVersions = protocolVersions
    self.kinds = kinds
    self.heartbeat = heartbeat
  }
}

extension PluginDescription {
  /// What `describe` prints.
  public var json: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // A description is made of texts, numbers and truth values; only a number that is not finite cannot be encoded.
    return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }

  /// Reads what `describe` printed.
  public init(json: String) throws { self = try JSONDecoder().decode(Self.self, from: Data(json.utf8)) }
}

/// How many jobs in how many seconds.
public struct JobRate: Codable, Hashable, Sendable {
  /// How many jobs may begin in one period.
  public var jobs: Int
  /// In seconds.
  public var period: Double

  /// The keys of its JSON.
  package enum CodingKeys: CodingKey { case jobs, period }

  /// - Parameters:
  ///   - jobs: how many jobs may begin in one period.
  ///   - period: in seconds.
  public init(jobs: Int, period: Double) {
    self.jobs = jobs
    self.period = period
  }
}
