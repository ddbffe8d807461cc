import PoolClient

/// The jobs that ended in each of the last minutes, as small bars in a line of a table; what failed stands on top.
enum Sparkline {
  private static let height = 22.0
  private static let barWidth = 3.0

  /// - Parameter name: the queue or kind.
  static func html(_ group: GroupActivity.Group, of name: String) -> HTML {
    let highest = Double(zip(group.succeeded, group.dead).map(+).max() ?? 0)
    guard highest > 0 else { return .nothing }
    let width = Int(barWidth + 1) * group.succeeded.count
    let summary =
      "\(Count.text(group.succeeded.reduce(0, +), "job")) of \(name) succeeded in the last \(group.succeeded.count) "
      + "minutes, \(Count.number(group.deaths)) died"
    return tag(
      "svg", .class("spark"), Attribute("viewBox", "0 0 \(width) \(Int(height))"), Attribute("width", String(width)),
      Attribute("height", String(Int(height))), Attribute("role", "img"), Attribute("aria-label", summary)
    ) {
      tag("title") { summary }
      for index in group.succeeded.indices {
        let done = Double(group.succeeded[index]) / highest * height
        let died = Double(group.dead[index]) / highest * height
        bar(index, from: 0, length: done, "s0")
        bar(index, from: done, length: died, "s1")
      }
    }
  }

  private static func bar(_ index: Int, from base: Double, length: Double, _ name: String) -> HTML {
    guard length > 0 else { return .nothing }
    // A single job among thousands is seen, too.
    let length = max(1, length)
    return tag(
      "rect", .class("bar \(name)"), .number("x", Double(index) * (barWidth + 1)),
      .number("y", max(0, height - base - length)), .number("width", barWidth), .number("height", length))
  }
}
