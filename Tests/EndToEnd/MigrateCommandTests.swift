import Foundation
import TestFiles
import Testing

/// `workerpool migrate`, and pools on stores of older models.
@Suite(.serialized) struct MigrateCommandTests {
  private static let newModel = """
    <model>
      <entity name="Item">
        <attribute name="amount" optional="YES" attributeType="Integer 64" defaultValueString="0" elementID="value"/>
        <attribute name="name" attributeType="String" defaultValueString="unnamed"/>
      </entity>
      <entity name="Tag"><attribute name="text" optional="YES" attributeType="String"/></entity>
    </model>
    """
  private static let impossibleModel = """
    <model><entity name="Item"><attribute name="value" optional="YES" attributeType="String"/></entity></model>
    """

  /// A store with three items and a finished job, and a bundle whose current version is a newer one.
  private func olderStore() throws -> (items: ItemPool, model: String) {
    let items = try ItemPool(items: 3)
    let pool = try items.start()
    try items.submit("add")
    try pool.waitForJobs(3)
    try pool.stop()
    try items.place.write(Self.newModel, to: "All.xcdatamodeld/New.xcdatamodel/contents")
    try FileManager.default.copyItem(
      atPath: items.model, toPath: items.place.path("All.xcdatamodeld/First.xcdatamodel"))
    try items.place.write(
      #"<plist version="1.0"><dict><key>_XCCurrentVersionName</key><string>New.xcdatamodel</string></dict></plist>"#,
      to: "All.xcdatamodeld/.xccurrentversion")
    return (items, items.place.path("All.xcdatamodeld"))
  }

  private func backups(_ items: ItemPool) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: items.place.url.path).filter {
      $0.contains(".before-migration-")
    }
  }

  @Test(.timeLimit(.minutes(20))) func aDryRunSaysWhatChangesAndWritesNothing() throws {
    let (items, model) = try olderStore()
    let before = try Data(contentsOf: URL(fileURLWithPath: items.store))
    let finished = try workerpool("migrate", "--store", items.store, "--model", model, "--dry-run")
    #expect(finished.code == 0, "\(finished)")
    #expect(
      finished.lines == [
        "\(items.store), made with version \"First\", has 3 objects; the new model changes:",
        "  Item (3 objects): new: name; renamed: value to amount",
        "  Tag (0 objects): the entity is new",
      ], "\(finished)")
    #expect(try Data(contentsOf: URL(fileURLWithPath: items.store)) == before)
    #expect(try backups(items).isEmpty)
  }

  @Test(.timeLimit(.minutes(20))) func aMigrationKeepsObjectsAndJobsAndMakesABackup() throws {
    // Given
    let (items, model) = try olderStore()
    let jobs = try sqlite(items.store, "SELECT Z_PK, ZKIND, ZSTATE FROM WPPOOLJOB ORDER BY 1")
    // When
    let finished = try workerpool("migrate", "--store", items.store, "--model", model)
    // Then
    #expect(finished.code == 0, "\(finished)")
    #expect(
      try sqlite(items.store, "SELECT Z_PK, ZAMOUNT, ZNAME FROM ZITEM ORDER BY 1")
        == "1|1|unnamed\n2|1|unnamed\n3|1|unnamed")
    #expect(try sqlite(items.store, "SELECT Z_PK, ZKIND, ZSTATE FROM WPPOOLJOB ORDER BY 1") == jobs)
    let backup = items.place.path(try #require(try backups(items).first))
    #expect(finished.output.contains("migrated; the store as it was: \(backup)"), "\(finished)")
    #expect(try sqlite(backup, "SELECT sum(ZVALUE) FROM ZITEM") == "3")
    // For its owner only, and under a name of which the folder for large values is its own
    let mode = try FileManager.default.attributesOfItem(atPath: backup)[.posixPermissions] as? Int
    #expect(mode == 0o600 && backup.hasSuffix(".sqlite"), "\(backup) \(mode ?? 0)")
    #expect(try sqlite(items.store, "PRAGMA integrity_check") == "ok")
    // And another one finds nothing to do
    let again = try workerpool("migrate", "--store", items.store, "--model", model)
    #expect(
      again.code == 0
        && again.output == "\(items.store) is of this model already; nothing changes\n")
    #expect(try backups(items).count == 1)
  }

  @Test(.timeLimit(.minutes(20))) func aPoolMigratesItsStoreWhenAsked() throws {
    let (items, model) = try olderStore()
    let refused = try workerpool(
      "run", "--store", items.store, "--model", model, "--queue", items.queue, "--plugins",
      items.plugins)
    #expect(
      refused.code == 7 && refused.errors.contains("workerpool migrate --store \(items.store)"),
      "\(refused)")
    let pool = try RunningPool(
      items.place, store: items.store, model: model, plugins: items.plugins, workers: 1,
      options: ["--migrate"])
    // A store on which a pool runs is not migrated by another process.
    let other = try workerpool("migrate", "--store", items.store, "--model", model)
    #expect(other.code == 1 && other.errors.contains("runs on the store"), "\(other)")
    try pool.stop()
    #expect(try sqlite(items.store, "SELECT sum(ZAMOUNT) FROM ZITEM") == "3")
    #expect(try backups(items).count == 1)
    // A pool that finds nothing to do makes no backup.
    let again = try RunningPool(
      items.place, store: items.store, model: model, plugins: items.plugins, workers: 1,
      options: ["--migrate"])
    try again.stop()
    #expect(try backups(items).count == 1)
  }

  @Test(.timeLimit(.minutes(20))) func whatCannotBeMigratedStaysAsItIsAndIsExplained() throws {
    let (items, model) = try olderStore()
    let before = try Data(contentsOf: URL(fileURLWithPath: items.store))
    try items.place.write(Self.impossibleModel, to: "Impossible.xcdatamodel/contents")
    let impossible = try workerpool(
      "migrate", "--store", items.store, "--model", items.place.path("Impossible.xcdatamodel"))
    #expect(impossible.code == 1, "\(impossible)")
    #expect(impossible.errors.contains("Item.value changed its type"), "\(impossible)")
    let noBackup = try workerpool(
      "migrate", "--store", items.store, "--model", model, "--backup",
      items.place.path("none/backup"))
    #expect(
      noBackup.code == 1 && noBackup.errors.contains("nothing was changed: the backup"),
      "\(noBackup)")
    #expect(try Data(contentsOf: URL(fileURLWithPath: items.store)) == before)
    for (arguments, expected) in [
      (["--store", items.place.path("none.sqlite"), "--model", model], "there is no store at"),
      (["--store", items.store, "--model", items.place.path("none.momd")], "there is no model at"),
      (["--store", items.model + "/contents", "--model", model], "cannot be read"),
    ] {
      for option in [["--dry-run"], []] {
        let finished = try run(Built.path("workerpool"), ["migrate"] + arguments + option)
        #expect(
          finished.code == 1 && finished.errors.contains(expected), "\(arguments) \(finished)")
        #expect(!finished.errors.contains("Error Domain"), "\(finished)")
      }
    }
  }

  /// What a call of SQLite or of the file system can do to a migration: it fails, or is the last that the process
  /// makes.
  @Test(.timeLimit(.minutes(20)), arguments: ["kill", "once", "ever"])
  func aMigrationThatIsCutOffLeavesAStoreThatCanBeMigrated(mode: String) throws {
    // Given the calls that a migration makes
    let (items, model) = try olderStore()
    let original = items.place.path("original")
    try FileManager.default.copyItem(atPath: items.store, toPath: original)
    let library = try FaultyPool.library(in: items.place)
    let log = items.place.path("calls")
    func migrate(_ faults: [String: String]) throws -> Finished {
      for name in try FileManager.default.contentsOfDirectory(atPath: items.place.url.path)
      where name.hasPrefix("app.sqlite") {
        try FileManager.default.removeItem(atPath: items.place.path(name))
      }
      try FileManager.default.copyItem(atPath: original, toPath: items.store)
      let variables = faults.merging(["LD_PRELOAD": library, "FAULT_PROGRAM": "workerpool"]) { $1 }
      return try run(
        "/usr/bin/env",
        variables.map { "\($0)=\($1)" } + [
          Built.path("workerpool"), "migrate", "--store", items.store, "--model", model,
        ])
    }
    try #require(try migrate(["FAULT_LOG": log]).code == 0)
    let calls = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").compactMap(FaultyPool.Call.init)
      .filter { ["write", "sync", "rename"].contains($0.group) }
    try #require(calls.count > 40)
    let old = "SELECT count(*), sum(ZVALUE) FROM ZITEM"
    let new = "SELECT count(*), sum(ZAMOUNT) FROM ZITEM"
    // When some of them fail, the last ones among them
    for call in calls.enumerated().filter({ $0.offset % 12 == 0 || $0.offset >= calls.count - 4 }).map(\.element) {
      let finished = try migrate([
        "FAULT_AT": "\(call.number)", "FAULT_GROUP": call.group, "FAULT_MODE": mode, "FAULT_ERRNO": "\(ENOSPC)",
      ])
      // Then the store is whole, and either as it was or migrated, and the command says which
      let isNew =
        try sqlite(items.store, "SELECT count(*) FROM pragma_table_info('ZITEM') WHERE name = 'ZAMOUNT'") == "1"
      #expect(try sqlite(items.store, isNew ? new : old) == "3|3", "\(call)")
      #expect(try sqlite(items.store, "PRAGMA integrity_check") == "ok", "\(call)")
      if mode != "kill" {
        #expect(finished.code == (isNew ? 0 : 1) && !finished.errors.contains("Error Domain"), "\(call) \(finished)")
      }
      // And another migration finishes it
      let again = try workerpool("migrate", "--store", items.store, "--model", model)
      #expect(try again.code == 0 && sqlite(items.store, new) == "3|3", "\(call) \(again)")
    }
  }
}
