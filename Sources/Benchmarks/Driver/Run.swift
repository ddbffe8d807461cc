import Foundation
import LinuxSystem

/// The figures of a run: `--json` prints them and `--compare` reads them.
struct Run: Codable, Sendable {
  var rows: Int
  var rounds: Int
  var figures: [Figure] = []
  /// The reasons of failed measures, by name.
  var failures: [String: String] = [:]

  init(_ options: Options) {
    rows = options.rows
    rounds = options.rounds
  }

  /// - Throws: ``UsageError`` if `--json` did not write the file.
  init(readFrom path: String) throws {
    do {
      self = try JSONDecoder().decode(Run.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    } catch {
      throw UsageError("\(path) is not what --json prints: \(error.localizedDescription)")
    }
  }

  var json: String {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
      return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
  }
}

/// The differences of two runs: only those beyond the spread of both.
struct RunComparison: Sendable {
  struct Move: Equatable, Sendable {
    let name: String
    let before: Double
    let after: Double
    /// Whether the new value is the better one.
    let isBetter: Bool
  }

  var moves: [Move] = []
  /// The names of figures that one of the runs lacks.
  var missing: [String] = []
  var compared = 0

  /// Compares ratios if there is another side, so that results of two machines can be compared; else the values.
  init(before: Run, after: Run) {
    let former = Dictionary(before.figures.map { ($0.name, $0) }) { first, _ in first }
    for figure in after.figures {
      guard let old = former[figure.name] else {
        missing.append(figure.name)
        continue
      }
      let hasRatio = !figure.ratios.isEmpty && !old.ratios.isEmpty
      guard let now = Spread(hasRatio ? figure.ratios : figure.ours),
        let then = Spread(hasRatio ? old.ratios : old.ours)
      else { continue }
      compared += 1
      guard now.isApart(from: then) else { continue }
      let moreIsBetter = !hasRatio && figure.unit == .rate
      moves.append(
        Move(
          name: figure.name, before: then.median, after: now.median,
          isBetter: (now.median > then.median) == moreIsBetter))
    }
  }

  var lines: [String] {
    let moved = moves.map { move in
      let word = move.isBetter ? "better" : "worse"
      return "\(word): \(move.name): " + String(format: "%.2f → %.2f", move.before, move.after)
    }
    return moved + ["\(moves.count) of \(compared) figures moved beyond the spread of both runs"]
      + missing.map { "not in the other run: \($0)" }
  }
}
