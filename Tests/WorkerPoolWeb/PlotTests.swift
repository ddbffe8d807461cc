import Foundation
import Testing

@testable import WorkerPoolWeb

@Suite struct PlotTests {
  @Test(arguments: ["7 s", "9 min 59 s", "23 h 59 min 59 s"])
  func labelsOfTheVerticalAxisBeginWithinThePicture(label: String) throws {
    let plot = Plot(
      title: "Waiting time", unit: "of jobs", shape: .lines, times: [Date(timeIntervalSince1970: 0)], step: 60,
      series: [Plot.Series(name: "p50", values: [500])], text: { _ in label })
    let ends = plot.html.markup.matches(of: /<text x="([0-9.]+)"[^>]*text-anchor="end"/)
      .compactMap { Double($0.output.1) }
    #expect(ends.count > 2)
    // Six is the width of a narrow character.
    for end in ends { #expect(end - 6 * Double(label.count) >= 0) }
  }
}
