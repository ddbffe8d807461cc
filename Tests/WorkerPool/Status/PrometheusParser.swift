/// A strict reader of the text format of Prometheus: what it accepts, every reader accepts.
///
/// Source: https://prometheus.io/docs/instrumenting/exposition_formats/, "Text-based format".
struct PrometheusParser {
  struct Sample: Equatable {
    let name: String
    let labels: [String: String]
    let value: Double
  }

  struct Family {
    let type: String
    var samples: [Sample] = []
  }

  struct Failure: Error, CustomStringConvertible {
    let line: String
    let reason: String
    var description: String { "\(reason): \(line)" }
  }

  private(set) var families: [String: Family] = [:]
  private var current = ""
  private var helped: Set<String> = []
  private var seen: Set<String> = []

  init(_ text: String) throws {
    guard text.isEmpty || text.unicodeScalars.last == "\n" else {
      throw Failure(line: "", reason: "no newline at the end")
    }
    for line in text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
      try read(String(line))
    }
    for (name, family) in families {
      guard !family.samples.isEmpty else { throw Failure(line: name, reason: "a family without samples") }
      if family.type == "histogram" { try checkHistogram(name, family) }
    }
  }

  private mutating func read(_ line: String) throws {
    func fail(_ reason: String) -> Failure { Failure(line: line, reason: reason) }
    if line.hasPrefix("#") {
      let words = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
      guard words.count == 4, words[0] == "#" else { throw fail("neither HELP nor TYPE") }
      switch words[1] {
      case "HELP":
        guard helped.insert(words[2]).inserted else { throw fail("a second HELP") }
      case "TYPE":
        guard ["counter", "gauge", "histogram", "summary", "untyped"].contains(words[3]) else { throw fail("no type") }
        guard families[words[2]] == nil else { throw fail("a second TYPE, or a family in two parts") }
        families[words[2]] = Family(type: words[3])
        current = words[2]
      default: throw fail("neither HELP nor TYPE")
      }
      return
    }
    var unread = line.unicodeScalars[...]
    let name = Self.name(&unread, colons: true)
    guard !name.isEmpty else { throw fail("no name") }
    var labels: [String: String] = [:]
    if unread.first == "{" {
      repeat {
        unread.removeFirst()
        let label = Self.name(&unread, colons: false)
        guard !label.isEmpty, labels[label] == nil else { throw fail("no label, or one given twice") }
        guard unread.starts(with: "=\"".unicodeScalars) else { throw fail("no value of the label \(label)") }
        unread = unread.dropFirst(2)
        guard let value = Self.text(&unread) else { throw fail("a value of a label that does not end") }
        labels[label] = value
      } while unread.first == ","
      guard unread.popFirst() == "}" else { throw fail("no } behind the labels") }
    }
    guard unread.popFirst() == " " else { throw fail("no space before the value") }
    let text = String(unread)
    guard let value = text == "+Inf" ? .infinity : Double(text), !text.contains(" ") else { throw fail("no number") }
    let suffixes = families[current]?.type == "histogram" ? ["_bucket", "_sum", "_count"] : [""]
    guard suffixes.contains(where: { current + $0 == name }) else { throw fail("not of the family \(current)") }
    let identity = name + labels.sorted { $0.key < $1.key }.map { "\u{0}\($0.key)\u{0}\($0.value)" }.joined()
    guard seen.insert(identity).inserted else { throw fail("a second sample with these labels") }
    families[current]?.samples.append(Sample(name: name, labels: labels, value: value))
  }

  /// Buckets grow, end in +Inf, and the last one equals the count.
  private func checkHistogram(_ name: String, _ family: Family) throws {
    func fail(_ reason: String) -> Failure { Failure(line: name, reason: reason) }
    for (labels, samples) in Dictionary(grouping: family.samples, by: { $0.labels.filter { $0.key != "le" } }) {
      let buckets = samples.filter { $0.name == name + "_bucket" }
      let bounds = try buckets.map { bucket in
        guard let le = bucket.labels["le"], let bound = le == "+Inf" ? .infinity : Double(le) else {
          throw fail("a bucket without a bound")
        }
        return bound
      }
      guard bounds.last == .infinity, zip(bounds, bounds.dropFirst()).allSatisfy({ $0 < $1 }) else {
        throw fail("bounds that do not grow to +Inf for \(labels)")
      }
      guard zip(buckets, buckets.dropFirst()).allSatisfy({ $0.value <= $1.value }) else {
        throw fail("buckets that shrink for \(labels)")
      }
      let counts = samples.filter { $0.name == name + "_count" }
      guard counts.count == 1, counts[0].value == buckets.last?.value,
        samples.count(where: { $0.name == name + "_sum" }) == 1
      else { throw fail("no count, no sum, or another count than the last bucket's for \(labels)") }
    }
  }

  private static func name(_ rest: inout Substring.UnicodeScalarView, colons: Bool) -> String {
    var name = String.UnicodeScalarView()
    while let next = rest.first {
      let isLetter = ("a"..."z").contains(next) || ("A"..."Z").contains(next) || next == "_" || (colons && next == ":")
      guard isLetter || (!name.isEmpty && ("0"..."9").contains(next)) else { break }
      name.append(rest.removeFirst())
    }
    return String(name)
  }

  /// The rest of a text in quotation marks, with its end.
  private static func text(_ rest: inout Substring.UnicodeScalarView) -> String? {
    var text = String.UnicodeScalarView()
    while let next = rest.popFirst() {
      switch next {
      case "\"": return String(text)
      case "\\":
        switch rest.popFirst() {
        case "\\": text.append("\\")
        case "\"": text.append("\"")
        case "n": text.append("\n")
        default: return nil
        }
      default: text.append(next)
      }
    }
    return nil
  }
}
