import Foundation
import TestFiles
import Testing
import WorkerProtocol

@Suite struct CommandLineTests {
  @Test func everyCommandExplainsItself() throws {
    let overview = try workerpool("--help")
    #expect(overview.code == 0)
    let commands = [
      "run", "submit", "status", "jobs", "periodic", "workers", "fetch", "logs", "retry", "cancel", "delete", "undo",
      "try", "pause", "resume", "scale", "reload", "reexec", "stop", "systemd-unit", "demo",
    ]
    for command in commands {
      #expect(overview.output.contains("  \(command) "))
      let help = try workerpool(command, "--help")
      #expect(help.code == 0)
      #expect(help.output.contains("Usage: workerpool \(command)"))
      #expect(help.errors.isEmpty)
    }
  }

  /// What people name that is not there: a sentence says what, and what to do, and no error's own dump.
  @Test func namesOfThingsThatAreNotThereAreExplained() throws {
    let place = try TestPlace()
    try place.write("<model><entity name=\"Item\"/></model>", to: "Items.xcdatamodel/contents")
    try place.write("no database", to: "text.sqlite")
    let (none, model) = (place.path("none"), place.path("Items.xcdatamodel"))
    let (missing, folder, text) = (none + "/app.sqlite", place.url.path, place.path("text.sqlite"))
    let cases: [([String], Int32, String)] = [
      (
        ["run", "--store", missing, "--model", model, "--queue", place.path("e")], 1,
        "there is no directory \(none); make it first"
      ),
      (
        ["run", "--store", folder, "--model", model, "--queue", place.path("a")], 1,
        "it is a directory, not a regular file"
      ),
      (
        ["run", "--store", place.path("b.sqlite"), "--model", none + ".momd", "--queue", place.path("b")], 1,
        "there is no model at"
      ),
      (
        ["run", "--store", place.path("c.sqlite"), "--model", folder, "--queue", place.path("c")], 1,
        "is neither a data model nor a store that keeps its model: it is a directory"
      ),
      (["run", "--store", text, "--model", model, "--queue", place.path("d")], 1, "file is not a database"),
      (["status", "--queue", none], 3, "there is no such directory: name the queue directory of a pool with --queue"),
      (["status", "--queue", folder], 3, "start one (workerpool run), or name the queue directory"),
      (["web", "--store", missing], 1, "there is no store at \(missing)"),
      (["web", "--store", folder], 1, "it is a directory, not a regular file"),
      (["fetch", "Item", "--store", missing, "--model", model], 1, "there is no store at \(missing)"),
      (["jobs", "--store", missing], 1, "there is no store at \(missing)"),
      (["report", "--store", missing], 1, "there is no store at \(missing)"),
      (["migrate", "--store", missing, "--model", model], 1, "there is no store at \(missing)"),
      (["submit", "import", "--queue", none], 1, "is not a queue directory: name the one of a pool with --queue"),
      (["report", "--store", text, "--output", none + "/report.html"], 1, "file is not a database"),
      (["export"], 2, "export is a kind of job: workerpool submit export"),
    ]
    for (arguments, code, sentence) in cases {
      let finished = try run(Built.path("workerpool"), arguments, in: place.url.path)
      #expect(finished.code == code && finished.errors.contains(sentence), "\(arguments) \(finished)")
      #expect(!finished.errors.contains("Error Domain") && !finished.errors.contains(". ("), "\(arguments) \(finished)")
    }
  }

  @Test(arguments: [
    (["statsu"], "did you mean status?"),
    (["run", "--worker", "2"], "did you mean --workers?"),
    (["run", "--store", "a", "--store", "b"], "--store is given twice"),
    (["run", "--workers", "many"], "--workers must be a whole number from 0 to 1000, not \"many\""),
    (["run", "--workers"], "--workers needs a value"),
    (["run"], "--store is missing"),
    (
      ["run", "--store", "a", "--model", "b", "--limit", "mail"], "--limit must be KIND=N or queue:NAME=N, not \"mail\""
    ),
    (["run", "--store", "a", "--model", "b", "--limit", "mail=0"], "--limit mail must be a whole number from 1"),
    (["run", "--store", "a", "--model", "b", "--limit", "tenant-*=1"], "only queues have patterns"),
    (["run", "--store", "a", "--model", "b", "--limit", "batch:night=1"], "must begin with a kind or with queue:"),
    (["run", "--store", "a", "--model", "b", "--limit", "queue:a/b=1"], "is not the name or pattern of a queue"),
    (["submit"], "workerpool submit needs KIND"),
    (["submit", "a", "p42"], "is not an object URI"),
    (["submit", "a", "--priority", "99999"], "--priority must be a whole number"),
    (["submit", "a", "--where", "x"], "--where goes with --entity"),
    (["submit", "a", "--parameters", "{"], "--parameters is not JSON"),
    (["submit", "a", "--run-at", "later"], "--run-at must be a time"),
    (["jobs", "--state", "daed"], "did you mean dead?"),
    (["jobs", "--store", "a", "surplus"], "does not know what to do with \"surplus\""),
    (["fetch", "--limit"], "--limit needs a value"),
    (["status", "--json=yes"], "--json takes no value"),
    (["scale"], "workerpool scale needs N"),
    (["scale", "=2"], #"scale takes N for all workers, or PLUGIN=N for one plugin, not "=2""#),
    (["scale", "index="], "N must be a whole number from 0 to 1000"),
    (["run", "--workers", "=2"], #"--workers takes N for all workers, or NAME=K for one plugin, not "=2""#),
    (["pause", "sl\u{1B}[2Jow"], #"no queue and no kind has the name "sl\u{1b}[2Jow""#),
    (["resume", "--kind", ""], "no queue and no kind has the name"),
    (["resume"], "resume needs QUEUE, --kind KIND, or --all for the whole pool"),
    (["resume", "slow", "--all"], "resume needs one of them: QUEUE, --kind KIND or --all"),
    (["cancel"], "workerpool cancel needs jobs: name them (p17), or choose them by options such as --state"),
    (["retry", "p1", "--state", "dead"], "name jobs, or choose them by options such as --state, but not both"),
    (["run", "--store", "a", "--store-wait", "soon"], "--store-wait must be a number of seconds"),
  ])
  func wrongArgumentsAreNamedWithTheNearestRightOne(arguments: [String], message: String) throws {
    let finished = try run(Built.path("workerpool"), arguments)
    #expect(finished.code == 2)
    #expect(finished.errors.contains(message), "\(finished.errors)")
    #expect(finished.output.isEmpty)
  }

  /// Port 1 of this host has no server, and a model would not help.
  @Test(.enabled(if: PostgreSQLServer.isInstalled)) func aServerThatIsAwayIsNamedAsTheReason() throws {
    let status = try workerpool("status", "--store", "postgresql://127.0.0.1:1/shop")
    #expect(status.code == 1, "\(status)")
    let parts = ["\"127.0.0.1\", port 1", "Connection refused", "check that the server runs"]
    for part in parts { #expect(status.errors.contains(part), "\(status.errors)") }
    #expect(!status.errors.contains("--model"), "\(status.errors)")
  }

  @Test func aWrongValueInAFileOfOptionsIsNamedWithItsLine() throws {
    let place = try TestPlace()
    let file = try place.write("store a.sqlite\n\nworkers import=2\nworkers four\n", to: "pool.conf")
    let wrong = try workerpool("run", "--config", file, in: place.url.path)
    #expect(wrong.code == 2)
    #expect(
      wrong.errors.hasPrefix(
        "\(file), line 4: --workers must be a whole number from 0 to 1000, not \"four\""), "\(wrong.errors)")
    // An option of the command line is not the file's.
    let refused = try workerpool("run", "--config", file, "--workers", "five", in: place.url.path)
    #expect(refused.code == 2 && refused.errors.hasPrefix("--workers must be"), "\(refused.errors)")
  }

  @Test(.timeLimit(.minutes(20))) func aRefusedQueueDirectorySaysWhatToDo() throws {
    let items = try ItemPool()
    let file = try items.place.write("", to: "file")
    let start = ["run", "--store", items.place.path("other.sqlite"), "--model", items.model, "--queue"]
    let onFile = try run(Built.path("workerpool"), start + [file])
    #expect(
      onFile.code == 1
        && onFile.errors.contains("\(file) is a regular file, not a directory; name a directory with --queue"),
      "\(onFile.errors)")
    let pool = try items.start()
    let second = try run(Built.path("workerpool"), start + [items.queue])
    #expect(
      second.code == 1
        && second.errors.contains(
          "another pool, process \(pool.pid), runs on \(items.queue); a queue directory has one pool: stop that one "
            + "first (workerpool stop --queue \(items.queue))"),
      "\(second.errors)")
    try pool.stop()
  }

  @Test(arguments: ["workerpool", "worker-import", "worker-exec"])
  func everyProgramSaysWhichVersionItIs(name: String) throws {
    let finished = try run(Built.path(name), ["--version"])
    #expect(finished.code == 0)
    #expect(finished.output.contains("\(name) "))
    #expect(finished.output.contains("workerpool \(Release.version)"))
  }

  @Test func whereNoPoolRunsTheCodeSaysSo() throws {
    let place = try TestPlace()
    for command in [["status"], ["workers"], ["stop"], ["pause"], ["scale", "3"]] {
      let finished = try run(Built.path("workerpool"), command + ["--queue", place.path("queue")])
      #expect(finished.code == 3)
      #expect(finished.errors.contains("no pool is running on"))
    }
  }

  @Test func submitWritesAJobFileThatWaitsForThePool() throws {
    let place = try TestPlace()
    let queue = place.path("queue")
    try FileManager.default.createDirectory(atPath: queue + "/incoming", withIntermediateDirectories: true)
    let finished = try workerpool(
      "submit", "import", "--queue", queue, "--set", "file=a b.json", "--set", "chunk=10", "--priority", "-5",
      "--job-queue", "slow", "--unique", "nightly", "--run-at", "2026-01-01T00:00:00Z", "--submission", "first")
    #expect(finished.code == 0)
    #expect(finished.output.isEmpty)
    #expect(finished.errors.contains("no pool is running on \(queue)"))
    #expect(finished.errors.contains("--submission first tells their URIs then"))
    let files = try FileManager.default.contentsOfDirectory(atPath: queue + "/incoming")
    #expect(files.count == 1)
    let text = try String(contentsOfFile: queue + "/incoming/" + (files.first ?? ""), encoding: .utf8)
    #expect(
      text == """
        {"kind":"import","parameters":{"file":"a b.json","chunk":10},"priority":-5,"queue":"slow",\
        "runAt":"2026-01-01T00:00:00Z","unique":"nightly","submission":"first"}

        """)
  }

  @Test func aStoreThatIsNotThereIsNotMade() throws {
    let place = try TestPlace()
    let finished = try workerpool("jobs", "--store", place.path("none.sqlite"))
    #expect(finished.code == 1)
    #expect(finished.errors.contains("there is no store at"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.url.path).isEmpty)
  }

  @Test(
    .timeLimit(.minutes(20)),
    arguments: [
      ("UPDATE Z_METADATA SET Z_PLIST = x'00'", "its metadata cannot be read"),
      ("DELETE FROM Z_PRIMARYKEY", "the file has no entity Item"),
      ("ALTER TABLE ZITEM DROP COLUMN ZVALUE", "the file's table ZITEM has no column ZVALUE"),
    ])
  func aStoreThatWasTamperedWithIsNamedWithItsFault(change: String, fault: String) throws {
    let items = try ItemPool()
    _ = try sqlite(items.store, change)
    let finished = try workerpool("fetch", "Item", "--store", items.store, "--model", items.model)
    #expect(finished.code == 1)
    #expect(
      finished.errors.hasPrefix(
        "workerpool fetch: \(items.store) is damaged, or was changed by another program: \(fault); restore it"),
      "\(finished.errors)")
  }

  @Test(.timeLimit(.minutes(20))) func aStoreThatIsCutShortIsNamedOnce() throws {
    let items = try ItemPool()
    _ = try sqlite(items.store, "PRAGMA wal_checkpoint(TRUNCATE)")
    #expect(truncate(items.store, 5000) == 0)
    let finished = try workerpool("fetch", "Item", "--store", items.store, "--model", items.model)
    #expect(finished.code == 1 && finished.errors.contains(items.store), "\(finished.errors)")
    #expect(finished.errors.contains("malformed (SQLite 11)"), "\(finished.errors)")
    #expect(!finished.errors.contains("could not be completed"), "\(finished.errors)")
  }

  /// SQLite would open a named pipe, and wait without end for its writer.
  @Test(.timeLimit(.minutes(20))) func onlyARegularFileIsOpenedAsAStore() throws {
    let place = try TestPlace()
    let model = try ISOCodesModel.write(into: place)
    let pipe = place.path("pipe")
    #expect(mkfifo(pipe, 0o600) == 0)
    for (path, kind) in [(pipe, "a named pipe"), (place.url.path, "a directory"), ("/dev/null", "a device")] {
      for command in [
        ["fetch", "Country", "--store", path, "--model", model], ["jobs", "--store", path],
        ["run", "--store", path, "--model", model, "--queue", place.path("queue")],
      ] {
        let finished = try run("/usr/bin/env", ["timeout", "60", Built.path("workerpool")] + command)
        #expect(finished.code == 1, "\(command[0]) \(path): \(finished)")
        #expect(
          finished.errors.contains("the store \(path) cannot be opened: it is \(kind), not a regular file\n"),
          "\(finished.errors)")
      }
    }
  }
}
