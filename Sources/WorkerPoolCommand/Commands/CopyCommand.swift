import Foundation
import Jobs
import PoolClient
import WorkerPool

let copyCommand = CommandDescription(
  name: "copy", summary: "Copy a store from SQLite to PostgreSQL, or back: objects and jobs",
  discussion: """
    Needs no pool, and refuses stores on which one runs. The copy is written in one transaction; then every value of it
    is compared with the original. Objects and jobs keep their URIs. The original stays as it is: run a pool on one of
    both only, or jobs have their effects twice.

      workerpool copy --store app.sqlite --to postgresql://me@db/app
      workerpool copy --store postgresql://me@db/app --model App.xcdatamodeld --to app.sqlite
    """,
  options: [
    CommandOption(name: "store", value: "STORE", help: "the store to copy: a SQLite file, or the URL of a database"),
    CommandOption(name: "to", value: "STORE", help: "where the copy goes; there must be no store yet"),
    CommandOption(
      name: "model", value: "PATH", help: "the app's model; a database needs it",
      defaultText: "the copy that a SQLite file keeps"),
  ],
  run: copy)

@Sendable private func copy(_ arguments: ParsedArguments) throws -> ExitCode {
  let source = StorePlace(try arguments.required("store"))
  let destination = StorePlace(try arguments.required("to"))
  // A private store stays private.
  umask(0o077)
  var line = ProgressLine()
  defer { line.clear() }
  let summary = try StoreTransfer.copy(from: source, to: destination, model: arguments.string("model")) { progress in
    switch progress {
    case .writing(let done, let total): line.show("copying: \(done)/\(total) objects", done: done, of: total)
    case .comparing(let done, let total): line.show("comparing: \(done)/\(total) objects", done: done, of: total)
    }
  }
  line.clear()
  for entity in summary.entities { Output.line("\(entity.name): \(Plural.text(entity.count, "object"))") }
  let jobs = summary.jobs.map { " and \(Plural.text($0, "job"))" } ?? ""
  Output.line("copied \(Plural.text(summary.objects, "object"))\(jobs) to \(destination); every value is equal")
  return .success
}
