import Foundation
import Testing
import WorkerPool

/// Who may read what a pool makes: the store has the app's data, and jobs have parameters.
@Suite struct PrivateFileTests {
  /// A pool that is started by hand, from a shell with the usual umask, and has rejected a file.
  private func pool(_ place: TestPlace, _ options: [String] = []) throws -> RunningPool {
    let pool = try RunningPool(
      place, store: place.path("app.sqlite"), model: try ISOCodesModel.write(into: place),
      plugins: try place.plugins("worker-import"), options: ["--metrics-file", place.path("metrics")] + options,
      behind: ["/bin/sh", "-c", "umask 022; exec \"$0\" \"$@\""])
    try place.write("no JSON", to: "bad")
    #expect(rename(place.path("bad"), place.path("queue/incoming/bad.json")) == 0)
    try pool.wait { status in status.rejectedFiles == 1 && access(place.path("metrics"), F_OK) == 0 }
    return pool
  }

  private func modes(_ place: TestPlace) throws -> [String: String] {
    var modes: [String: String] = [:]
    for name in ["app.sqlite", "app.sqlite-wal", "queue", "queue/incoming", "queue/rejected/bad.json.error", "metrics"]
    {
      var status = stat()
      try #require(lstat(place.path(name), &status) == 0, "\(name)")
      modes[name] = String(status.st_mode & 0o777, radix: 8)
    }
    return modes
  }

  @Test(.timeLimit(.minutes(20))) func whatAPoolMakesIsItsUsersAlone() throws {
    let place = try TestPlace()
    let pool = try pool(place)
    #expect(
      try modes(place) == [
        "app.sqlite": "600", "app.sqlite-wal": "600", "queue": "700", "queue/incoming": "700",
        "queue/rejected/bad.json.error": "600", "metrics": "644",
      ])
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20))) func anOptionLetsTheGroupRead() throws {
    let place = try TestPlace()
    let pool = try pool(place, ["--umask", "027"])
    #expect(
      try modes(place) == [
        "app.sqlite": "640", "app.sqlite-wal": "640", "queue": "750", "queue/incoming": "750",
        "queue/rejected/bad.json.error": "640", "metrics": "644",
      ])
    try pool.stop()
  }

  @Test(arguments: [
    ("8", "must be an octal mode from 000 to 777, as in 027, not \"8\""), ("-7", "must be an octal mode"),
    ("1000", "must be an octal mode"), ("", "must be an octal mode"),
    ("700", "--umask 700 would deny the pool its own files"),
  ])
  func aMaskThatCannotBeIsRefused(mask: String, reason: String) throws {
    for command in [["run"], ["systemd-unit"]] {
      let finished = try run(
        Built.path("workerpool"), command + ["--umask", mask, "--store", "/nowhere/a", "--model", "/nowhere/m"])
      #expect(finished.code == 2 && finished.errors.contains(reason), "\(finished.errors)")
    }
  }
}
