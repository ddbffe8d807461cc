import Foundation
import WorkerProtocol

extension PluginDiscovery {
  /// The plugin that a process has described.
  static func plugin(
    _ name: String, _ path: String, _ probe: Probe, _ death: Death
  ) throws(StartFailure) -> Plugin {
    if probe.isTooLong {
      throw .badDescription(path: path, reason: "it printed more than \(outputLimit >> 20) MiB")
    }
    guard death == .exited(code: 0) else {
      let lines = probe.lastErrors.joined(separator: " | ")
      let lastLines = lines.isEmpty ? "" : "; its last lines: \(lines)"
      throw .badDescription(path: path, reason: "it \(death)\(lastLines)")
    }
    let description: PluginDescription
    do {
      description = try PluginDescription(json: probe.output.joined(separator: "\n"))
    } catch {
      throw .badDescription(path: path, reason: problem(error))
    }
    guard description.protocolVersions.contains(where: ProtocolVersion.supported.contains) else {
      throw .wrongVersion(description.protocolVersions)
    }
    guard !description.kinds.isEmpty, description.kinds.allSatisfy({ isProtocolName($0.kind) }) else {
      throw .badDescription(
        path: path, reason: "it has no job kind, or one whose name is not made of letters and digits")
    }
    guard description.name == name else {
      throw .badDescription(
        path: path, reason: "it gives the name \"\(description.name)\"; its file says that its name is \"\(name)\"")
    }
    if let problem = description.kinds.lazy.compactMap(\.problem).first ?? description.needs?.problem {
      throw .badDescription(path: path, reason: problem)
    }
    return Plugin(name: name, path: path, description: description)
  }

  /// Why the output of `describe` is not a plugin's JSON, with the key that is to blame.
  private static func problem(_ error: any Error) -> String {
    let (path, what): ([any CodingKey], String) =
      switch error as? DecodingError {
      case .keyNotFound(let key, let context): (context.codingPath + [key], "is missing")
      case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
        (context.codingPath, "has a value that it cannot have")
      default: ([], "")
      }
    // Foundation names no key, and says that it is not JSON, where an integer is expected and the number is none.
    guard !path.isEmpty else {
      return "its output is not the JSON of a plugin, or has a number with a fraction where a whole one is expected"
    }
    return "\"\(path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: "."))\" \(what)"
  }
}
