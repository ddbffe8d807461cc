import Foundation
import Jobs
import PoolClient

/// The plots that the finished jobs of a store give: throughput, waiting time, running time.
enum JobPlots {
  static func html(_ intervals: [FinishedJobs.Interval], step grid: TimeGrid) -> [HTML] {
    let note = "Of up to \(FinishedJobs.sampled) jobs that succeeded in each interval."
    let throughput = Plot(
      title: "Throughput", unit: "jobs in \(grid.stepTitle)",
      note: "Jobs by the time at which they ended, deleted ones too, as far as a pool ran when they ended.",
      shape: .bars, times: grid.times, step: grid.step,
      series: FinishedJobs.outcomes.enumerated().map { number, state in
        Plot.Series(name: state.name, values: intervals.map { Double($0.counts[number]) })
      }, isCount: true, text: { $0 < 10 && $0 != $0.rounded() ? StatusText.decimal($0) : Count.number(Int($0)) })
    func spread(_ title: String, _ note: String, _ values: (FinishedJobs.Interval) -> [Double]?) -> HTML {
      Plot(
        title: title, unit: "half, 95 % and 99 % of jobs", note: note, shape: .lines, times: grid.times,
        step: grid.step,
        series: ["p50", "p95", "p99"].enumerated().map { number, name in
          Plot.Series(name: name, values: intervals.map { values($0)?[number] })
        }, text: { $0 == 0 ? "0" : StatusText.shortTime($0) }
      ).html
    }
    return [
      throughput.html,
      spread(
        "Waiting time",
        note + " From arrival to start, of first attempts; a job that was scheduled waits for its time, too.",
        \.waiting),
      spread("Running time", note + " From the start of the last attempt to its end.", \.running),
    ]
  }
}
