/// Names for the files in `taken/`, none of which is used twice: a random number of the pool's start, a counter, and
/// the producer's name.
///
/// The producer's name stays whole, so that messages and `rejected/` show it: with 15 bytes before it and at most
/// ``IncomingDirectory/longestName`` of its own a name has at most 255 bytes, as many as Linux allows.
struct TakenFileNames {
  private static let radix = 36
  private static let startDigits = 8
  private static let counterDigits = 6
  private static let prefixLength = startDigits + counterDigits + 1

  private var start: String
  private var count: UInt64 = 0

  /// - Parameter names: names that are in use; none of the new ones begins as they do.
  init(avoiding names: some Sequence<String>) {
    let used = Set(names.map { String($0.prefix(Self.startDigits)) })
    repeat { start = Self.randomStart() } while used.contains(start)
  }

  /// A new name for a producer's file.
  mutating func next(for name: String) -> String {
    count += 1
    if count >= Self.power(Self.counterDigits) {
      start = Self.randomStart()
      count = 0
    }
    return start + Self.text(count, digits: Self.counterDigits) + "-" + name
  }

  /// The producer's name in a private one. A name that is not private is returned as it is.
  static func original(_ name: String) -> String {
    let suffix = name.utf8.dropFirst(prefixLength - 1)
    guard suffix.first == UInt8(ascii: "-"), suffix.count > 1 else { return name }
    return String(Substring(suffix.dropFirst()))
  }

  private static func randomStart() -> String { text(.random(in: 0..<power(startDigits)), digits: startDigits) }

  private static func power(_ digits: Int) -> UInt64 { (0..<digits).reduce(1) { value, _ in value * UInt64(radix) } }

  private static func text(_ number: UInt64, digits: Int) -> String {
    let text = String(number, radix: radix)
    return String(repeating: "0", count: digits - text.count) + text
  }
}
