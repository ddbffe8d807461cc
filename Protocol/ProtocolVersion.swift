/// The versions of the protocol, and the limits that belong to this one.
public enum ProtocolVersion {
  /// The version that this module speaks. It grows when a peer that knows only the older one would misunderstand.
  public static let current = 1

  /// The versions that the coordinator accepts in `HELLO`.
  public static let supported = 1...1
}

/// A version with the number of its additions: `1.1` of `WORKERPOOL_PROTOCOL`.
///
/// A peer is sent an added line only if it knows it. A worker sees in its environment what the pool knows.
public struct ProtocolEdition: Comparable, Sendable, CustomStringConvertible {
  /// The version of the protocol: peers of different ones do not understand each other.
  public let major: Int
  /// The number of its additions: 0 for none.
  public let minor: Int

  /// Makes an edition of these numbers.
  public init(major: Int, minor: Int) {
    self.major = major
    self.minor = minor
  }

  /// Nil for texts other than two numbers with a dot between them.
  public init?(_ text: String) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false).map { Int($0) }
    guard parts.count == 2, let major = parts[0], let minor = parts[1], major > 0, minor >= 0 else { return nil }
    self.init(major: major, minor: minor)
  }

  /// What this module knows: 1.1 adds `WAITING`.
  public static let current = ProtocolEdition(major: ProtocolVersion.current, minor: 1)

  /// The first edition with `WAITING`.
  public static let waiting = ProtocolEdition(major: 1, minor: 1)

  /// Whether `other` knows more than `one`.
  public static func < (one: ProtocolEdition, other: ProtocolEdition) -> Bool {
    (one.major, one.minor) < (other.major, other.minor)
  }

  /// The two numbers with a dot between them.
  public var description: String { "\(major).\(minor)" }
}

/// Limits that both sides keep to.
public enum ProtocolLimit {
  /// The longest line in bytes, its newline included. A longer one is an error; a list of URIs that would exceed it is
  /// sent as several lines of the same verb.
  public static let lineBytes = 65_536

  /// The largest number that any argument may be.
  public static let counter = Int(Int32.max)

  /// The longest token, and the longest kind in a `HELLO`, in bytes.
  public static let nameBytes = 128

  /// The longest name of a kind or queue that a job can have, in bytes.
  public static let jobNameBytes = 100
}
