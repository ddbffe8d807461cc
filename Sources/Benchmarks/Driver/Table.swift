import Foundation

/// The table that a run prints, a line for each figure.
enum Table {
  /// - Parameter other: the other side.
  static func heading(_ other: String) -> String {
    line("measure", "ours", other, "ratio (middle half)", "processor", "allocations a row")
  }

  static func line(_ figure: Figure) -> String {
    let ours = Spread(figure.ours).map { text($0.median, figure.unit) } ?? ""
    var plain = Spread(figure.plain).map { text($0.median, figure.unit) } ?? ""
    if !plain.isEmpty, !["plain C", "other"].contains(figure.comparedWith) { plain += " (\(figure.comparedWith))" }
    let ratio = Spread(figure.ratios).map { String(format: "%.2f (%.2f–%.2f)", $0.median, $0.lower, $0.upper) }
    let processor = Spread(figure.processorRatios).map { String(format: "%.2f", $0.median) }
    let other = figure.comparedWith == "other" ? "other" : "C"
    let allocations = figure.allocationsPerRow.map { String(format: "%.1f, \(other) %.1f", $0.ours, $0.plain) }
    return line(figure.name, ours, plain, ratio ?? "", processor ?? "", allocations ?? "")
  }

  static func failure(_ name: String, _ reason: String) -> String { line(name, "failed: \(reason)", "", "", "", "") }

  private static func line(_ columns: String...) -> String {
    let widths = [68, 14, 14, 22, 11, 0]
    let padded = zip(columns, widths).map { text, width in
      text + String(repeating: " ", count: max(text.isEmpty ? 0 : 1, width - text.count))
    }
    return String(padded.joined().reversed().drop { $0 == " " }.reversed())
  }

  private static func text(_ value: Double, _ unit: Figure.Unit) -> String {
    switch unit {
    case .seconds: duration(value)
    case .nanoseconds: String(format: "%.1f ns", value)
    case .rate: String(format: "%.0f/s", value)
    case .mebibytes: String(format: "%.0f MiB", value)
    case .number: value == value.rounded() ? String(format: "%.0f", value) : String(format: "%.2f", value)
    }
  }

  private static func duration(_ seconds: Double) -> String {
    switch seconds {
    case ..<0.001: String(format: "%.0f µs", seconds * 1e6)
    case ..<10: String(format: "%.2f ms", seconds * 1e3)
    default: String(format: "%.2f s", seconds)
    }
  }
}
