import Jobs
import PoolClient

/// Keeps a mistyped name from being taken for a new one, as far as a running pool can tell.
enum MistypedNames {
  static let option = CommandOption(
    name: "even-if-unknown", help: "accept a name that the pool does not know, even if it resembles a known one")

  /// A name that the pool does not know but that resembles a known one was most likely mistyped; any other may be a new
  /// one.
  ///
  /// - Parameter isStrict: whether a name is also an error if it resembles no known one.
  /// - Returns: the names that the pool does not know.
  /// - Throws: ``UnknownNameError``, and `StatusClient.Failure` when no pool answers.
  @discardableResult
  static func check(
    _ arguments: ParsedArguments, kind: String? = nil, queue: String? = nil, batch: String? = nil,
    isStrict: (UnknownName) -> Bool = { _ in false }
  ) throws -> [UnknownName] {
    guard !arguments.has(option.name), kind != nil || queue != nil || batch != nil else { return [] }
    let request = StatusRequest(.check, queue: queue, kind: kind, batch: batch)
    let unknown = try arguments.pool().request(request, within: 10).unknown ?? []
    if let name = unknown.first(where: { $0.nearest != nil || isStrict($0) }) { throw UnknownNameError(name: name) }
    return unknown
  }
}

/// The pool does not know a name.
struct UnknownNameError: Error, CustomStringConvertible {
  let name: UnknownName

  var description: String {
    let reason =
      switch name.what {
      case "kind": "no plugin of the pool runs the kind \(name.name)"
      case "queue": "no job is in the queue \(name.name)"
      default: "there is no \(name.what) \(name.name)"
      }
    return "\(reason)\(name.hint.isEmpty ? "." : name.hint) --even-if-unknown accepts the name"
  }
}
