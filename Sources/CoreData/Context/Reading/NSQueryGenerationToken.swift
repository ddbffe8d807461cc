/// Names a state of the stores that a context's reads can see.
///
/// A pinned context's `queryGenerationToken` gives one; pass it to other contexts of the coordinator that should see
/// the same state. As long as it exists, a connection to each file stays open and the file's write-ahead log only
/// grows.
///
/// ```swift
/// try context.setQueryGenerationFrom(.current)
/// _ = try context.count(for: NSFetchRequest<Book>(entityName: "Book"))  // pins
/// let other = container.newBackgroundContext()
/// try other.setQueryGenerationFrom(context.queryGenerationToken)
/// ```
///
/// Source: Apple's documentation of `NSQueryGenerationToken`.
///
/// `@unchecked Sendable`: immutable.
public final class NSQueryGenerationToken: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
  /// The state of the stores when a context with this token first reads.
  ///
  /// It names no state by itself, and may be kept and archived. Source: Apple's documentation of `current`.
  public class var current: NSQueryGenerationToken { shared }

  private static let shared = NSQueryGenerationToken(nil)

  /// The pinned state, which this token keeps readable; nil in `current`.
  let generation: QueryGeneration?

  init(_ generation: QueryGeneration?) { self.generation = generation }

  /// The token itself, which never changes.
  ///
  /// - Parameter zone: ignored.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  /// True: an archive holds one Boolean.
  public static var supportsSecureCoding: Bool { true }

  /// Registers the class names that Apple's archives may have.
  static func registerNames() {
    for name in ["NSQueryGenerationToken", "_NSQueryGenerationToken"] {
      NSKeyedUnarchiver.setClass(NSQueryGenerationToken.self, forClassName: name)
    }
  }

  /// Archives the token. Only `current` has a meaning outside of the process; others read as nil.
  public func encode(with coder: NSCoder) { coder.encode(generation == nil, forKey: "isCurrent") }

  /// Reads an archived token: `current`, or nil for any other, which meant something in its process only.
  ///
  /// - Parameter coder: an archive with a token.
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
