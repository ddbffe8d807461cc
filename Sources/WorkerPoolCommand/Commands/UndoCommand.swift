import CoreData
import Foundation
import Jobs
import LinuxSystem
import PoolClient
import WorkerProtocol

let undoCommand = CommandDescription(
  name: "undo", summary: "Undo what a job changed, where nobody has changed it since",
  discussion: """
    Takes back the changes of a job that has ended, all of them or none, in one transaction. The pool must have kept
    them: `workerpool run --keep-changes KIND`. Objects that the job inserted are deleted, updated properties get
    their former values, and deleted objects come back with new URIs. If another program has changed one of them since,
    the command names it and changes nothing. Effects outside of the store are not undone.

      workerpool undo p17 --dry-run
    """,
  operands: [Operand(name: "JOB", help: "a job as `workerpool jobs` shows it: p17, or its whole URI")],
  options: [
    CommandOption(name: "dry-run", help: "say what would be done, and change nothing"),
    CommonOptions.store, CommonOptions.model, CommonOptions.queue,
  ],
  run: undo)

@Sendable private func undo(_ arguments: ParsedArguments) throws -> ExitCode {
  let uri = try arguments.jobURI(arguments.operands[0])
  let place = StorePlace(try arguments.storePath())
  try StoreReader.requireStore(place.text)
  let modelPath = try arguments.modelPath()
  if place.isServer, modelPath == nil { throw StoreReaderError.noModel(place.text) }
  let store = try JobStore(
    url: place.url, model: try ModelLoader.load(modelPath ?? place.text),
    options: [NSPersistentStoreMustExistOption: true])
  guard let key = ObjectURI(uri).flatMap(store.jobURIs.key) else {
    throw UsageError("\(uri) is not a job of the store \(place)")
  }
  let isDryRun = arguments.has("dry-run")
  do {
    let lines = try JobUndo(store).run(key, isDryRun: isDryRun)
    lines.forEach(Output.line)
    Output.line(isDryRun ? "nothing is changed: without --dry-run the job would be undone" : "p\(key) is undone")
    return .success
  } catch let error as UndoError {
    Output.error("workerpool undo: \(error)\n")
    return .failure
  }
}
