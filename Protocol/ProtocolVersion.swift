/// The versions of the protocol, and the limits that belong to this one.
public enum ProtocolVersion {
  /// The version that this module speaks. It grows when a peer that knows only the older one would misunderstand.
  public static let current = 2

  /// The version with the number of its additions. A peer is sent an added line only if it knows it: a worker sees in
  /// its environment what the pool knows.
  public static let edition = "\(current).1"

  /// The versions that the coordinator accepts in `HELLO`.
  public static let supported = 2...2
}

/// Limits that both sides keep to.
public enum ProtocolLimit {
  /// The longest line in bytes, its newline included. A longer one is an error; a list of URIs that would exceed it is
  /// sent as several lines of the same verb.
  public static let lineBytes = 65_536

  /// The largest number that any argument may be.
  public static let counter = Int(Int32.max)

  /// The longest kind in a `HELLO`, in bytes.
  public static let nameBytes = 128

  /// The longest name of a kind or queue that a job can have, in bytes.
  public static let jobNameBytes = 100
}
