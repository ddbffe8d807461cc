import Foundation
import Glibc
import Jobs
import LinuxSystem

/// `workerpool-web report`, which `workerpool report` runs: writes a report of a store into a file.
///
///     workerpool-web report --store FILE --queue DIR --seconds N --output FILE
enum ReportProgram {
  /// Returns the exit code.
  static func run(_ arguments: [String]) -> Int32 {
    var options: [String: String] = [:]
    for index in stride(from: 0, to: arguments.count - 1, by: 2) { options[arguments[index]] = arguments[index + 1] }
    guard let store = options["--store"], let queue = options["--queue"], let output = options["--output"],
      let seconds = options["--seconds"].flatMap(Double.init), seconds > 0, options.count * 2 == arguments.count
    else {
      WebProgram.write(
        "workerpool-web report needs --store FILE --queue DIR --seconds N --output FILE\n", to: STDERR_FILENO)
      return 2
    }
    do {
      let files = StorePlace(store).isServer ? StoreFiles.none : StoreFiles(path: store)
      let obstacle =
        OutputPath.obstacle(to: output, store: files, model: nil, queue: queue)
        ?? OutputPath.obstacle(to: output, replacing: "a page", whichBegin: HTML.documentType)
      if let obstacle {
        WebProgram.write("workerpool report: \(output) \(obstacle)\n", to: STDERR_FILENO)
        return 2
      }
      let report = try Report(store: store, seconds: seconds, until: Date())
      try ReplacingFile.write(report.html.document.utf8, to: output, mode: 0o644, surviving: .processes)
      return 0
    } catch {
      WebProgram.write("workerpool report: \(ErrorText.text(error))\n", to: STDERR_FILENO)
      return 1
    }
  }
}
