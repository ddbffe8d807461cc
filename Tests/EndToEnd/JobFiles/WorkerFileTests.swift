import Foundation
import Jobs
import Testing
import WorkerPool

/// The files that the bundled workers read and write where their jobs say.
@Suite(.serialized) struct WorkerFileTests {
  private func pool(_ place: TestPlace) throws -> RunningPool {
    try RunningPool(
      place, store: place.path("iso.sqlite"), model: try ISOCodesModel.write(into: place),
      plugins: try place.plugins("worker-import", "worker-export", "worker-maintain", "worker-index"), workers: 4)
  }

  private func submitImport(_ pool: RunningPool, _ file: String, _ more: String...) throws {
    let arguments = ["file=\(file)", "entity=Country", "key=alpha_2"] + more
    let finished = try run(
      Built.path("workerpool"),
      ["submit", "import", "--queue", pool.queue, "--max-attempts", "1"] + arguments.flatMap { ["--set", $0] })
    try #require(finished.code == 0, "\(finished.errors)")
  }

  /// Submits an export of all countries and a backup to that path.
  private func submitExportAndBackup(_ pool: RunningPool, to file: String) throws {
    try pool.submit("export", "--set", "entity=Country", "--set", "format=csv", "--set", "file=\(file)")
    try pool.submit("maintain", "--set", "task=backup", "--set", "file=\(file)")
  }

  /// The last error of each dead job, by the job's parameter `file`.
  private func errors(_ pool: RunningPool) throws -> [String: [String]] {
    let jobs = try pool.command("jobs", "--state", "dead", "--json", "--limit", "0").lines.map(JSONParser.parse)
    return jobs.reduce(into: [:]) { errors, job in
      let message = job["errors"]?.arrayValue?.last?["message"]?.stringValue ?? ""
      errors[job["parameters"]?["file"]?.stringValue ?? "", default: []].append(message)
    }
  }

  @Test(.timeLimit(.minutes(20))) func theStoreIsNeverReplacedByAnExportOrABackup() throws {
    // Given a pool with data, and its store under several paths
    let place = try TestPlace()
    let pool = try pool(place)
    try submitImport(pool, try place.write("alpha_2,name\nAA,Somewhere\n", to: "aa.csv"))
    try pool.waitForJobs(1)
    let before = try #require(FileID(path: pool.store))
    #expect(link(pool.store, place.path("other-name")) == 0)
    try FileManager.default.createSymbolicLink(atPath: place.path("elsewhere"), withDestinationPath: place.url.path)
    let paths = [
      pool.store, pool.store + "-wal", pool.store + "-shm", pool.store + "-journal", place.path("other-name"),
      place.path("queue/../iso.sqlite"), place.path("elsewhere/iso.sqlite-wal"),
    ]
    // When jobs are told to write there
    for path in paths { try submitExportAndBackup(pool, to: path) }
    try pool.wait { $0.jobs?["dead"] == 2 * paths.count }
    // Then they are dead, say why, and the store is as it was
    let errors = try errors(pool)
    for path in paths {
      #expect(errors[path] == Array(repeating: "\(path) is a file of the store; choose another path", count: 2))
    }
    #expect(FileID(path: pool.store) == before)
    #expect(try sqlite(pool.store, "SELECT ZALPHA_2 FROM ZCOUNTRY; PRAGMA integrity_check") == "AA\nok")
    try pool.stop()
  }

  /// The files there are values of rows; a copy that another store keeps in the same folder would go with them.
  @Test(.timeLimit(.minutes(20))) func noFileComesIntoTheFolderOfTheStoresLargeValues() throws {
    let place = try TestPlace()
    let pool = try pool(place)
    let value = try place.write("a large value", to: ".iso_SUPPORT/_EXTERNAL_DATA/1B9D6BCD-BBFD-4B2D-9B5D-AB8DFBBD4BED")
    try FileManager.default.createSymbolicLink(
      atPath: place.path("values"), withDestinationPath: place.path(".iso_SUPPORT/_EXTERNAL_DATA"))
    let paths = [value, place.path("values/new.csv"), place.path(".iso_SUPPORT/new.sqlite")]
    for path in paths { try submitExportAndBackup(pool, to: path) }
    try pool.wait { $0.jobs?["dead"] == 2 * paths.count }
    let errors = try errors(pool)
    for path in paths {
      let expected = "\(path) lies in the folder of the store's large values; choose another path"
      #expect(errors[path] == Array(repeating: expected, count: 2))
    }
    #expect(try String(contentsOfFile: value, encoding: .utf8) == "a large value")
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.path(".iso_SUPPORT")) == ["_EXTERNAL_DATA"])
    try pool.stop()
  }

  /// Without it no pool starts again.
  @Test(.timeLimit(.minutes(20))) func theModelIsNeverReplacedByAnExportOrABackup() throws {
    let place = try TestPlace()
    let pool = try pool(place)
    let model = "\(pool.model)/ISO.xcdatamodel/contents"
    let before = try String(contentsOfFile: model, encoding: .utf8)
    try submitExportAndBackup(pool, to: model)
    try pool.wait { $0.jobs?["dead"] == 2 }
    let expected = "\(model) is a file of the model; choose another path"
    #expect(try errors(pool) == [model: [expected, expected]])
    #expect(try String(contentsOfFile: model, encoding: .utf8) == before)
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20))) func nothingButARegularFileIsReplaced() throws {
    let place = try TestPlace()
    let pool = try pool(place)
    let (pipe, folder, link) = (place.path("pipe"), place.path("folder"), place.path("link"))
    #expect(mkfifo(pipe, 0o600) == 0 && mkdir(folder, 0o700) == 0)
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: place.path("target"))
    let kinds = [pipe: "a named pipe", folder: "a directory", link: "a symbolic link"]
    for path in kinds.keys.sorted() { try submitExportAndBackup(pool, to: path) }
    try submitExportAndBackup(pool, to: "relative.csv")
    try pool.wait { $0.jobs?["dead"] == 2 * kinds.count + 2 }
    let errors = try errors(pool)
    for (path, kind) in kinds {
      let expected = "\(path) is \(kind), which is never replaced; choose another path"
      #expect(errors[path] == [expected, expected])
    }
    let relative = "\"file\" in the parameters must begin with /"
    #expect(errors["relative.csv"] == [relative, relative])
    var status = stat()
    #expect(lstat(pipe, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
    #expect(lstat(link, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
    let names = try FileManager.default.contentsOfDirectory(atPath: place.url.path)
    #expect(!names.contains { $0.hasSuffix(".tmp") }, "\(names)")
    // A regular file is replaced.
    let old = try place.write("old", to: "old.csv")
    try pool.submit("export", "--set", "entity=Country", "--set", "properties=[\"name\"]", "--set", "file=\(old)")
    try pool.wait { $0.jobs?["succeeded"] == 1 }
    #expect(try String(contentsOfFile: old, encoding: .utf8) == "objectID,name\r\n")
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20))) func onlyRegularFilesAreImported() throws {
    let place = try TestPlace()
    let pool = try pool(place)
    let (pipe, folder, missing) = (place.path("pipe.csv"), place.path("folder"), place.path("missing.jsonl"))
    #expect(mkfifo(pipe, 0o600) == 0 && mkdir(folder, 0o700) == 0)
    let expected = [
      missing: "\(missing) is not there",
      folder: "\(folder) is not a regular file",
      "/dev/zero": "/dev/zero is not a regular file",
      "relative.csv": "\"file\" in the parameters must begin with /",
      pipe: "\(pipe) is not a regular file",
    ]
    // The pipe comes last, so that a worker that waits for a writer keeps no other job waiting.
    for file in expected.keys.sorted(by: { $0 != pipe && ($1 == pipe || $0 < $1) }) {
      for format in ["json", "jsonl", "csv"] { try submitImport(pool, file, "format=\(format)") }
    }
    try pool.wait { $0.jobs?["dead"] == 3 * expected.count }
    let errors = try errors(pool)
    for (file, error) in expected { #expect(errors[file] == [error, error, error]) }
    // A link to a regular file is followed.
    try place.write("alpha_2,name\nAA,Somewhere\n", to: "aa.csv")
    try FileManager.default.createSymbolicLink(
      atPath: place.path("link.csv"), withDestinationPath: place.path("aa.csv"))
    try submitImport(pool, place.path("link.csv"))
    try pool.wait { $0.jobs?["succeeded"] == 1 }
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20))) func onlyRegularFilesAreIndexed() throws {
    let place = try TestPlace()
    let model = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent(
        "Sources/Documents/Documents.xcdatamodeld")
    let pool = try RunningPool(
      place, store: place.path("documents.sqlite"), model: model.path, plugins: try place.plugins("worker-index"))
    let (pipe, missing) = (place.path("pipe.txt"), place.path("missing.txt"))
    #expect(mkfifo(pipe, 0o600) == 0)
    let expected = [
      missing: "\(missing) is not there", "relative.txt": "\"file\" in the parameters must begin with /",
      pipe: "\(pipe) is not a regular file",
    ]
    for file in expected.keys.sorted() {
      try pool.submit("index", "--max-attempts", "1", "--set", "file=\(file)")
    }
    try pool.wait { $0.jobs?["dead"] == expected.count }
    let errors = try errors(pool)
    for (file, error) in expected { #expect(errors[file] == [error]) }
    try pool.stop()
  }
}
