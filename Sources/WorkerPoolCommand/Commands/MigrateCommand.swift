import CoreData
import Foundation
import Jobs
import LinuxSystem
import PoolClient
import StoreTools
import WorkerPool

let migrateCommand = CommandDescription(
  name: "migrate", summary: "Migrate a store to a newer model, after a backup",
  discussion: """
    Needs no pool, and refuses a store on which one runs. The store changes in one transaction, or not at all; its jobs
    stay. Entities and properties are matched by renaming identifier and name, as in Core Data's lightweight migration.

      workerpool migrate --store app.sqlite --model App.xcdatamodeld --dry-run
      workerpool migrate --store app.sqlite --model App.xcdatamodeld
    """,
  options: [
    CommandOption(name: "store", value: "FILE", help: "the SQLite store"),
    CommandOption(name: "model", value: "PATH", help: "the new model; of a bundle with versions, its current one"),
    CommandOption(
      name: "from", value: "PATH", help: "the model that the store was made with",
      defaultText: "a version beside the new one, or the copy that the store keeps"),
    CommandOption(name: "dry-run", help: "say what would change, and in how many objects; write nothing"),
    CommandOption(
      name: "backup", value: "FILE", help: "copy the store here first",
      defaultText: "STORE.before-migration-TIME.sqlite"),
    CommandOption(name: "without-backup", help: "make no copy first"),
  ],
  run: migrate)

@Sendable private func migrate(_ arguments: ParsedArguments) throws -> ExitCode {
  let store = try arguments.required("store")
  let model = try arguments.required("model")
  if arguments.has("backup"), arguments.has("without-backup") {
    throw UsageError("--backup and --without-backup cannot be given together")
  }
  if arguments.has("dry-run") {
    tell(try ModelMigration(store: store, model: model, from: arguments.string("from")), store)
    return .success
  }
  // The backup is for those who may read the store.
  umask(0o077)
  try Pool.withMigration(store: store, model: model, from: arguments.string("from")) { migration in
    tell(migration, store)
    guard let migration else { return }
    let backup =
      arguments.has("without-backup") ? nil : arguments.string("backup") ?? ModelMigration.backupPath(of: store)
    var line = ProgressLine()
    defer { line.clear() }
    try migration.run(backup: backup) { progress in
      switch progress {
      case .backingUp(let done, let total): line.show("backing up: \(done)/\(total) pages", done: done, of: total)
      case .migrating(let bytes):
        line.show("migrating: \(StatusText.size(bytes)) in the write-ahead log")
      }
    }
    line.clear()
    guard let backup else { return Output.line("migrated") }
    let folder = StoreMaintenance.folderOfLargeValues(of: URL(fileURLWithPath: backup))
    let values = folder.map { ", with its large values in \($0.path): move both together" } ?? ""
    Output.line("migrated; the store as it was: \(backup)\(values)")
  }
  return .success
}

private func tell(_ migration: ModelMigration?, _ store: String) {
  guard let migration else {
    Output.line("\(store) is of this model already; nothing changes")
    return
  }
  let version = migration.version.map { ", made with version \"\($0)\"," } ?? ""
  Output.line("\(store)\(version) has \(Plural.text(migration.rows, "object")); the new model changes:")
  for entity in migration.changes {
    Output.line("  \(entity.name) (\(Plural.text(entity.rows, "object"))): \(entity.changes.joined(separator: "; "))")
  }
  if migration.unchanged == 1 { Output.line("  another entity stays as it is") }
  if migration.unchanged > 1 { Output.line("  \(migration.unchanged) other entities stay as they are") }
}
