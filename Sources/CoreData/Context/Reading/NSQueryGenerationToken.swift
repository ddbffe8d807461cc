/// Names the state of the stores that a context's reads see.
///
/// Get one from a pinned context's `queryGenerationToken`, and give it to other contexts of the coordinator that are to
/// see the same. As long as somebody keeps it, a connection to each file stays open, and the file's write-ahead log
/// only grows.
///
/// Source: Apple's documentation of `NSQueryGenerationToken`.
///
/// `@unchecked Sendable`: immutable.
public final class NSQueryGenerationToken: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
  /// Whatever the stores have when a context that is given this token first reads.
  public class var current: NSQueryGenerationToken { shared }

  private static let shared = NSQueryGenerationToken(nil)

  /// nil in `current`.
  let generation: QueryGeneration?

  init(_ generation: QueryGeneration?) { self.generation = generation }

  /// The token itself, which never changes.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  /// True.
  public static var supportsSecureCoding: Bool { true }

  /// The names that Apple's archives may have.
  static func registerNames() {
    for name in ["NSQueryGenerationToken", "_NSQueryGenerationToken"] {
      NSKeyedUnarchiver.setClass(NSQueryGenerationToken.self, forClassName: name)
    }
  }

  /// Only `current` means anything outside of the process: the others are archived as nothing and give nil.
  public func encode(with coder: NSCoder) { coder.encode(generation == nil, forKey: "isCurrent") }

  /// Reads an archived token: `current`, or nil for any other, which meant something in its process only.
  public init?(coder: NSCoder) {
    guard coder.decodeBool(forKey: "isCurrent") else { return nil }
    generation = nil
  }

  public override var hash: Int { generation.map { ObjectIdentifier($0).hashValue } ?? 0 }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSQueryGenerationToken else { return false }
    return generation === other.generation
  }

  public override var description: String {
    generation == nil ? "<NSQueryGenerationToken: current>" : "<NSQueryGenerationToken: \(hash)>"
  }
}
