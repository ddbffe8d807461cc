import Foundation
import PoolClient

/// A plot over time as SVG: axes, units, values under the pointer, series that differ by pattern as well as by colour.
struct Plot {
  enum Shape { case bars, lines }

  struct Series {
    var name: String
    /// A value for each interval; nil where there is none.
    var values: [Double?]
  }

  var title: String
  /// What the vertical axis counts, as in "jobs per minute".
  var unit: String
  /// How the values come about, for people who wonder.
  var note: String?
  var shape: Shape
  /// The beginnings of the intervals, at least one.
  var times: [Date]
  var step: Double
  var series: [Series]
  /// Whether the values count things, so that the axis has no halves; means may have them.
  var isCount = false
  /// A value with its unit.
  var text: (Double) -> String

  private enum Size {
    static let width = 460.0
    static let height = 210.0
    static let right = 414.0
    static let top = 26.0
    static let bottom = 180.0
  }

  /// The figure with its title, the drawing and the values as a table.
  var html: HTML {
    tag("figure", .class("plot")) {
      tag("figcaption") {
        tag("strong") { title }
        " "
        tag("span", .class("unit")) { unit }
      }
      drawing
      tag("details") {
        tag("summary") {
          "Values"
          tag("span", .class("unseen")) { " of \(title)" }
        }
        if let note { tag("p", .class("note")) { note } }
        table
      }
    }
  }

  // MARK: Drawing

  private var drawing: HTML {
    let scale = Scale(highest: highest, isCount: isCount, text: text)
    return tag(
      "svg", Attribute("viewBox", "0 0 \(Int(Size.width)) \(Int(Size.height))"), Attribute("role", "img"),
      Attribute("aria-label", "\(title), \(unit). \(summary)")
    ) {
      axes(scale)
      shape == .bars ? bars(scale) : lines(scale)
      legend(scale)
      slots(scale)
    }
  }

  private var highest: Double {
    switch shape {
    case .bars:
      times.indices.map { index in series.reduce(0) { $0 + (value($1, index) ?? 0) } }.max() ?? 0
    case .lines: series.flatMap { $0.values.compactMap(\.self) }.max() ?? 0
    }
  }

  private func value(_ series: Series, _ index: Int) -> Double? {
    series.values.indices.contains(index) ? series.values[index] : nil
  }

  private var summary: String {
    series.map { series in
      let last = series.values.last.flatMap(\.self)
      return "\(series.name): \(last.map(text) ?? "nothing yet")"
    }.joined(separator: "; ")
  }

  private func x(_ index: Double, _ scale: Scale) -> Double {
    scale.left + (Size.right - scale.left) * index / Double(max(1, times.count))
  }

  private func y(_ value: Double, _ scale: Scale) -> Double {
    Size.bottom - (Size.bottom - Size.top) * value / scale.top
  }

  private func axes(_ scale: Scale) -> HTML {
    tag("g", .class("axes")) {
      for (tick, label) in zip(scale.ticks, scale.labels) {
        line(y: y(tick, scale), from: scale.left, to: Size.right, tick == 0 ? "axis" : "grid")
        svgText(label, x: scale.left - 6, y: y(tick, scale) + 4, anchor: "end")
      }
      for tick in timeTicks {
        line(x: x(tick.index, scale), from: Size.bottom, to: Size.bottom + 4, "axis")
        svgText(tick.text, x: x(tick.index, scale), y: Size.bottom + 18, anchor: "middle")
      }
      svgText("UTC", x: Size.right + 8, y: Size.bottom + 18, anchor: "start")
    }
  }

  /// Four times along the horizontal axis.
  private var timeTicks: [(index: Double, text: String)] {
    let count = times.count
    guard count > 1 else { return [] }
    return (0..<4).map { number in
      let index = count * number / 4 + count / 8
      return (Double(index), When.short(times[index], step: step))
    }
  }

  private func bars(_ scale: Scale) -> HTML {
    let width = max(1, (x(1, scale) - x(0, scale)) * 0.8)
    var parts: [HTML] = []
    for index in times.indices {
      var base = 0.0
      for (number, series) in series.enumerated() {
        guard let value = value(series, index), value > 0 else { continue }
        let upper = y(base + value, scale)
        parts.append(
          tag(
            "rect", .class("bar s\(number)"), .number("x", x(Double(index), scale) + (x(1, scale) - x(0, scale)) * 0.1),
            .number("y", upper), .number("width", width), .number("height", max(1, y(base, scale) - upper))))
        base += value
      }
    }
    return tag("g") { parts }
  }

  private func lines(_ scale: Scale) -> HTML {
    var parts: [HTML] = []
    for (number, series) in series.enumerated() {
      var path = ""
      for stretch in stretches(of: series) {
        let points = stretch.map { (x(Double($0.index) + 0.5, scale), y($0.value, scale)) }
        if points.count == 1 {
          // A value without neighbours.
          parts.append(
            tag(
              "circle", .class("dot s\(number)"), .number("cx", points[0].0), .number("cy", points[0].1),
              .number("r", 3)))
        } else {
          path += "M" + points.map { "\(Self.tenth($0.0)) \(Self.tenth($0.1))" }.joined(separator: "L")
        }
      }
      if !path.isEmpty { parts.append(tag("path", .class("line s\(number)"), Attribute("d", path))) }
    }
    return tag("g") { parts }
  }

  /// The values that stand beside each other.
  private func stretches(of series: Series) -> [[(index: Int, value: Double)]] {
    var stretches: [[(index: Int, value: Double)]] = []
    for index in times.indices {
      guard let value = value(series, index) else { continue }
      if let last = stretches.last?.last, last.index == index - 1 {
        stretches[stretches.count - 1].append((index, value))
      } else {
        stretches.append([(index, value)])
      }
    }
    return stretches
  }

  private static func tenth(_ value: Double) -> String { String((value * 10).rounded() / 10) }

  /// The names of the series with their patterns, above the plot.
  private func legend(_ scale: Scale) -> HTML {
    var x = scale.left
    var parts: [HTML] = []
    for (number, series) in series.enumerated() {
      if shape == .bars {
        parts.append(
          tag(
            "rect", .class("bar s\(number)"), .number("x", x), .number("y", 5), .number("width", 12),
            .number("height", 10)))
      } else {
        parts.append(tag("path", .class("line s\(number)"), Attribute("d", "M\(Self.tenth(x)) 10h16")))
      }
      parts.append(svgText(series.name, x: x + 21, y: 14, anchor: "start"))
      x += 34 + Double(series.name.count) * 7
    }
    return tag("g", .class("legend")) { parts }
  }

  /// One for each interval: under the pointer it shows the values.
  private func slots(_ scale: Scale) -> HTML {
    tag("g") {
      for index in times.indices {
        let values = series.compactMap { series in value(series, index).map { "\(series.name) \(text($0))" } }
        let summary =
          When.short(times[index], step: step) + "  " + (values.isEmpty ? "nothing" : values.joined(separator: ", "))
        tag("g", .class("slot")) {
          tag(
            "rect", .class("hit"), .number("x", x(Double(index), scale)), .number("y", 0),
            .number("width", x(1, scale) - x(0, scale)),
            .number("height", Size.bottom))
          line(x: x(Double(index) + 0.5, scale), from: Size.top, to: Size.bottom, "guide")
          tag(
            "rect", .class("plate"), .number("x", scale.left), .number("y", 0),
            .number("width", Size.width - scale.left),
            .number("height", 20))
          tag(
            "text", .class("read"), .number("x", scale.left), .number("y", 14)
          ) { summary }
        }
      }
    }
  }

  private func line(y: Double, from x1: Double, to x2: Double, _ name: String) -> HTML {
    tag("line", .class(name), .number("x1", x1), .number("y1", y), .number("x2", x2), .number("y2", y))
  }

  private func line(x: Double, from y1: Double, to y2: Double, _ name: String) -> HTML {
    tag("line", .class(name), .number("x1", x), .number("y1", y1), .number("x2", x), .number("y2", y2))
  }

  private func svgText(_ text: String, x: Double, y: Double, anchor: String) -> HTML {
    tag("text", .number("x", x), .number("y", y), Attribute("text-anchor", anchor)) { text }
  }

  // MARK: Values

  private var table: HTML {
    tag("div", .class("scroll"), Attribute("tabindex", "0"), Attribute("aria-label", "Values of \(title)")) {
      tag("table") {
        tag("thead") {
          tag("tr") {
            tag("th") { "from (UTC)" }
            for series in series { tag("th", .class("number")) { series.name } }
          }
        }
        tag("tbody") {
          for index in times.indices.reversed() where series.contains(where: { value($0, index) != nil }) {
            tag("tr") {
              tag("td") { When.short(times[index], step: step) }
              for series in series { tag("td", .class("number")) { value(series, index).map(text) ?? "" } }
            }
          }
        }
      }
    }
  }
}

/// The vertical axis: from zero to a round number, with a few round numbers between.
struct Scale {
  let top: Double
  let ticks: [Double]
  /// What stands beside the ticks.
  let labels: [String]
  /// Where the vertical axis is, right of the longest label.
  let left: Double

  /// - Parameters:
  ///   - isCount: whether all ticks are whole numbers.
  ///   - text: a value with its unit.
  init(highest: Double, isCount: Bool = false, text: (Double) -> String = { "\($0)" }) {
    let highest = highest > 0 ? highest : 1
    let rough = isCount ? max(1, highest / 4) : highest / 4
    let power = pow(10, log10(rough).rounded(.down))
    let step = [1, 2, 5, 10].map { $0 * power }.first { $0 >= rough * 0.999 } ?? power * 10
    let count = Int((highest / step - 1e-9).rounded(.up))
    top = Double(max(1, count)) * step
    ticks = (0...max(1, count)).map { Double($0) * step }
    labels = ticks.map(text)
    // A character of the labels is at most 7 wide. Most plots have short labels, and one place for the axis.
    left = max(62, 10 + 7 * Double(labels.map(\.count).max() ?? 0))
  }
}

/// The patterns of the bars, once in a page.
enum Patterns {
  static let html = tag(
    "svg", .class("patterns"), Attribute("aria-hidden", "true"), Attribute("width", "0"), Attribute("height", "0")
  ) {
    tag("defs") {
      tag(
        "pattern", .id("hatch"), Attribute("width", "5"), Attribute("height", "5"),
        Attribute("patternUnits", "userSpaceOnUse"), Attribute("patternTransform", "rotate(45)")
      ) {
        tag("rect", .class("ground"), Attribute("width", "5"), Attribute("height", "5"))
        tag("rect", .class("danger"), Attribute("width", "3"), Attribute("height", "5"))
      }
      tag(
        "pattern", .id("dots"), Attribute("width", "4"), Attribute("height", "4"),
        Attribute("patternUnits", "userSpaceOnUse")
      ) {
        tag("rect", .class("ground"), Attribute("width", "4"), Attribute("height", "4"))
        tag("circle", .class("quiet"), Attribute("cx", "2"), Attribute("cy", "2"), Attribute("r", "1.3"))
      }
    }
  }
}
