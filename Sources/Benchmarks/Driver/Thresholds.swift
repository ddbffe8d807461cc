import Foundation
import LinuxSystem

/// The limits that `--check` compares a run with.
///
/// The file is JSON, with figures by name:
///
///     {"margin": 1.4, "ratios": {"insert and save": 2.0}, "allocations": {"insert and save": 4.5}}
///
/// A ratio compares cycles, or processor time if cycles are not counted. A figure fails if its smallest round is above
/// the ratio times the margin: noise makes a round slower, and hardly ever faster. Allocations per row do not depend on
/// the machine's load, so they have no margin.
struct Thresholds: Codable, Sendable {
  var margin: Double
  var ratios: [String: Double]
  /// The highest numbers of allocations per row; nil limits none.
  var allocations: [String: Double]?

  /// - Throws: ``UsageError``.
  init(readFrom path: String) throws {
    do {
      self = try JSONDecoder().decode(Thresholds.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    } catch {
      throw UsageError("\(path) has no thresholds: \(error.localizedDescription)")
    }
  }

  /// The figures above their threshold, and those with a threshold that were not measured.
  func violations(_ run: Run) -> [String] {
    let byName = Dictionary(run.figures.map { ($0.name, $0) }) { first, _ in first }
    let slow = ratios.sorted { $0.key < $1.key }.compactMap { name, ratio in
      violation(of: name, byName[name]?.processorRatios.min(), limit: ratio * margin, unit: "times plain C")
    }
    let wasteful = (allocations ?? [:]).sorted { $0.key < $1.key }.compactMap { name, limit in
      violation(of: name, byName[name]?.allocationsPerRow?.ours, limit: limit, unit: "allocations per row")
    }
    return slow + wasteful
  }

  private func violation(of name: String, _ value: Double?, limit: Double, unit: String) -> String? {
    guard let value else { return "\(name) has a threshold in \(unit) and was not measured" }
    // Written so that not-a-number is above each limit.
    guard !(value <= limit) else { return nil }
    return "\(name): " + String(format: "%.2f ", value) + unit + String(format: ", and at most %.2f are allowed", limit)
  }
}
