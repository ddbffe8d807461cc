import CoreData
import Foundation
import Jobs
import WorkerPool

/// A backlog of a million jobs: the time until it is taken, the time until its first job starts, and whether the last
/// jobs run as fast as the first.
enum BacklogBenchmark {
  static var measures: [Measure] { [Measure(name: "backlog") { try measure($0) }] }
  /// The pool takes a file in one transaction, so a producer of very many jobs writes several files.
  private static let jobsPerFile = 10_000

  private static func measure(_ options: Options) throws -> [Figure] {
    let count = options.backlog
    var figures: [Figure] = []

    let pool = try BenchmarkPool(workers: 2)
    try pool.warmUp()
    let before = residentMemory()
    let done = try pool.succeeded()
    // The mark precedes all other jobs, so its start is the start of the backlog.
    var files: [String] = []
    let parameters = options.parameters > 0 ? #"{"x": "\#(String(repeating: "x", count: options.parameters))"}"# : nil
    let line = try JobFile.text([JobRequest(kind: NoOperation.kind, parameters: parameters)])
    for start in stride(from: 0, to: count, by: jobsPerFile) {
      let size = min(jobsPerFile, count - start)
      var text = start == 0 ? try JobFile.text([JobRequest(kind: NoOperation.kind, parameters: "{}")]) : line
      for _ in 1..<size { text += line }
      let name = String(format: "backlog-%04d.json", files.count)
      try Data(text.utf8).write(to: URL(fileURLWithPath: pool.directory.path + "/queue/\(name)"))
      files.append(name)
    }
    let incoming = pool.directory.path + "/queue/incoming/"
    let isEmpty = { try FileManager.default.contentsOfDirectory(atPath: pool.directory.path + "/queue/" + $0).isEmpty }
    let start = MachineClock.now
    for name in files { rename(pool.directory.path + "/queue/\(name)", incoming + name) }
    let first = pool.nextMark() - start

    // The number of finished jobs is read from the store now and then while the pool runs.
    var times: [(done: Int, time: Double)] = []
    var taken = 0.0
    var most = residentMemory()
    while taken == 0 || times.last.map({ $0.done < count }) ?? true {
      times.append((try pool.succeeded() - done, MachineClock.now))
      most = max(most, residentMemory())
      // A file disappears when all its jobs are on disk.
      if taken == 0, try isEmpty("incoming"), try isEmpty("taken") {
        taken = MachineClock.now - start
      }
      // Counting reads all finished rows and costs the pool time.
      usleep(2_000_000)
    }
    figures.append(Figure("\(count) jobs in \(files.count) files: first started after", .seconds, first))
    figures.append(Figure("\(count) jobs in \(files.count) files: all taken after", .seconds, taken))
    for (name, part) in [("first", 0.02...0.1), ("last", 0.9...0.98)] {
      let span = times.filter { part.contains(Double($0.done) / Double(count)) }
      guard let one = span.first, let other = span.last, other.time > one.time else { continue }
      let rate = Double(other.done - one.done) / (other.time - one.time)
      figures.append(Figure("jobs/s, the \(name) tenth", .rate, rate))
    }
    figures.append(Figure("memory of the pool and of this program, before", .mebibytes, Double(before >> 20)))
    figures.append(Figure("memory of the pool and of this program, at most", .mebibytes, Double(most >> 20)))
    try pool.end()
    return figures
  }

  /// Source: proc(5), the second field of `/proc/self/statm`, in pages.
  private static func residentMemory() -> Int {
    // A figure that the kernel does not give is 0.
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    let fields = text.split(separator: " ")
    return fields.count > 1 ? (Int(fields[1]) ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE))) : 0
  }
}
