/// The URI form of a managed object ID, `x-coredata://STORE/ENTITY/pN`: the only name of an object that crosses a socket.
///
/// The text is kept as it came; two URIs are equal when their texts are. It holds no space and no control character, so
/// that it is always one argument of a line.
public struct ObjectURI: Hashable, Sendable, CustomStringConvertible {
  /// What every object URI starts with.
  public static let scheme = "x-coredata://"

  /// The URI as text.
  public let description: String

  /// Takes `text` as an object URI; `nil` when it is not one.
  public init?(_ text: String) {
    guard text.hasPrefix(Self.scheme), text.utf8.count > Self.scheme.utf8.count,
      text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F })
    else { return nil }
    description = text
  }
}
