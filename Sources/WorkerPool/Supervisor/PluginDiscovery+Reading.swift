import Foundation
import WorkerProtocol

extension PluginDiscovery {
  /// The plugin that a process has described.
  static func plugin(
    named name: String, at path: String, probe: PluginProbe, death: Death
  ) throws(StartFailure) -> Plugin {
    if probe.isTooLong {
      throw .badDescription(path: path, reason: "it printed more than \(PluginProbe.outputLimit >> 20) MiB")
    }
    guard death == .exited(code: 0) else {
      let lines = probe.lastErrors.joined(separator: " | ")
      let lastLines = lines.isEmpty ? "" : "; its last lines: \(lines)"
      throw .badDescription(path: path, reason: "it \(death)\(lastLines)")
    }
    let printed: PrintedDescription
    do {
      printed = try PrintedDescription(json: probe.output.joined(separator: "\n"))
    } catch {
      throw .badDescription(path: path, reason: problem(error, output: probe.output))
    }
    let description = printed.description
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
    return Plugin(name: name, path: path, description: description, unknownKeys: printed.unknownKeys)
  }

  /// Why the output of `describe` is not a plugin's JSON, with the key that is to blame.
  private static func problem(_ error: any Error, output: [String]) -> String {
    if error is PrintedDescription.UnfitNumber {
      return "it printed a number with a fraction where a whole one is expected"
    }
    let (path, what): ([any CodingKey], String) =
      switch error as? DecodingError {
      case .keyNotFound(let key, let context): (context.codingPath + [key], "is missing")
      case .typeMismatch(let type, let context): (context.codingPath, "is not \(form(of: type))")
      case .valueNotFound(let type, let context): (context.codingPath, "is null and not \(form(of: type))")
      case .dataCorrupted(let context): (context.codingPath, "has a value that it cannot have")
      default: ([], "")
      }
    guard !path.isEmpty else {
      let first = output.first.map { "it printed \"\($0.prefix(shownCharacters))\"" } ?? "it printed nothing"
      return "\(first); one JSON object is expected"
    }
    return "\"\(path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: "."))\" \(what)"
  }

  /// Characters of an output that is not JSON which its error shows.
  private static let shownCharacters = 60

  /// What JSON has for a type of the description.
  private static func form(of type: any Any.Type) -> String {
    switch type {
    case is Int.Type: "a whole number"
    case is Double.Type: "a number"
    case is Bool.Type: "true or false"
    case is String.Type: "a string"
    case is [Int].Type, is [String].Type, is [PluginDescription.Kind].Type, is [Any].Type: "an array"
    default: "an object"
    }
  }
}
