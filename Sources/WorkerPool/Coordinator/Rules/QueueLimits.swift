/// How many jobs of a queue may be in hand at a time.
///
/// A limit is for a queue by its name, or for each queue whose name matches a pattern in which `*` stands for any
/// characters. A name goes before patterns, and of several patterns the one with the most other characters counts.
public struct QueueLimits: Equatable, Sendable {
  private var names: [String: Int] = [:]
  private var patterns: [Pattern] = []

  private struct Pattern: Equatable, Sendable {
    let text: String
    let parts: [String]
    let limit: Int
    var length: Int { text.count { $0 != "*" } }
  }

  /// - Parameter limits: by name or pattern.
  public init(_ limits: [String: Int] = [:]) {
    for (text, limit) in limits {
      if text.contains("*") {
        let parts = text.split(separator: "*", omittingEmptySubsequences: false).map(String.init)
        patterns.append(Pattern(text: text, parts: parts, limit: limit))
      } else {
        names[text] = limit
      }
    }
    patterns.sort { (-$0.length, $0.text) < (-$1.length, $1.text) }
  }

  /// Whether no queue has a limit.
  public var isEmpty: Bool { names.isEmpty && patterns.isEmpty }

  /// The queues that are limited by their own names.
  public var queues: [String] { names.keys.sorted() }

  /// The patterns for queues, those that count first at the beginning, with the limit of each queue that fits.
  var limitsByPattern: [(pattern: String, limit: Int)] { patterns.map { ($0.text, $0.limit) } }

  /// The limit of a queue; nil for none.
  public func limit(of queue: String) -> Int? {
    names[queue] ?? patterns.first { Self.matches(queue, $0.parts) }?.limit
  }

  /// Whether a text consists of the parts with anything between them.
  private static func matches(_ text: String, _ parts: [String]) -> Bool {
    guard let first = parts.first, let last = parts.last, text.hasPrefix(first) else { return false }
    var unmatched = text.dropFirst(first.count)
    for part in parts.dropFirst().dropLast() where !part.isEmpty {
      guard let range = unmatched.firstRange(of: part) else { return false }
      unmatched = unmatched[range.upperBound...]
    }
    return unmatched.hasSuffix(last)
  }
}
