import LinuxSystem
import WorkerProtocol

/// A plugin that can be started: an executable and its description.
struct Plugin: Codable, Equatable, Sendable {
  let name: String
  let path: String
  let description: PluginDescription
  /// Keys of its description that this pool does not know, such as "kinds.0.timout".
  var unknownKeys: [String] = []
}

/// Why a plugin cannot be used, or why one of its processes did not come up.
enum StartFailure: Error, Equatable, Sendable, CustomStringConvertible {
  /// The file cannot be executed.
  case notExecutable(path: String, reason: String)
  /// `describe` did not print what it must.
  case badDescription(path: String, reason: String)
  /// `describe` did not end within this many seconds. It is asked again.
  case undescribed(path: String, seconds: Double)
  /// It ended before it said `HELLO`; with its last lines of standard error.
  case exitedBeforeHello(Death, lastLines: [String])
  /// It speaks other versions of the protocol only.
  case wrongVersion([Int])
  /// It said nothing for this many seconds.
  case silent(seconds: Double)
  /// The machine or the pool lacked a resource that a process needs: which one, and where its limit is set.
  case shortage(String)
  /// It ended before it said `HELLO`, for a reason that may pass; with its last lines of standard error.
  case notNow(lastLines: [String])
  /// Its file could not be started within this many seconds: its file system hangs.
  case hangs(path: String, seconds: Double)
  /// Its `HELLO` named kinds that its description does not have.
  case foreignKinds([String])
  /// Its `HELLO` was refused.
  case refused(Refusal)
  /// It said something that is no message, or no `HELLO`.
  case brokeProtocol(MessageError)

  var isHang: Bool { if case .hangs = self { true } else { false } }

  /// Whether a plugin that could not be asked for its description may answer another time.
  var mayPass: Bool {
    switch self {
    case .undescribed, .hangs, .shortage: true
    default: false
    }
  }

  var description: String {
    switch self {
    case .notExecutable(let path, let reason): "\(path) cannot be executed: \(reason)"
    case .badDescription(let path, let reason): "\(path) describe: \(reason)"
    case .undescribed(let path, let seconds): "\(path) describe did not end within \(Clock.text(seconds))"
    case .exitedBeforeHello(let death, let lines):
      "it \(death) before it said hello" + (lines.isEmpty ? "" : "; its last lines: \(lines.joined(separator: " | "))")
    case .wrongVersion(let versions):
      "it speaks protocol version \(versions.map(String.init).joined(separator: ", ")), this pool speaks "
        + "\(ProtocolVersion.supported.lowerBound) to \(ProtocolVersion.supported.upperBound)"
    case .silent(let seconds): "it did not say hello within \(Clock.text(seconds))"
    case .shortage(let reason): reason
    case .notNow(let lines): lines.isEmpty ? "it asks to be started later" : lines.joined(separator: " | ")
    case .hangs(let path, let seconds):
      "\(path) could not be started within \(Clock.text(seconds)): its file system does not answer"
    case .foreignKinds(let kinds):
      "its hello names \(kinds.joined(separator: ", ")), which its description does not have; if its file was "
        + "replaced, reload the plugins (workerpool reload)"
    case .refused(let refusal): "its hello was refused because of its \(refusal.rawValue)"
    case .brokeProtocol(let error): "it broke the protocol: \(error)"
    }
  }
}
