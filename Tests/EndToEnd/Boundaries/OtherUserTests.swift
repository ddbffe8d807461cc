import Foundation
import Testing

/// Another user of the machine, as which these tests can run programs when they themselves run as root.
final class OtherUser {
  static let id = 65_534
  private static let setpriv = "/usr/bin/setpriv"
  static let command = [setpriv, "--reuid=\(id)", "--regid=\(id)", "--clear-groups", "--"]

  /// Whether programs can be run as that user: this takes root, `setpriv`, and Swift's libraries where everybody can
  /// read them.
  static let isThere: Bool = {
    guard geteuid() == 0, FileManager.default.isExecutableFile(atPath: setpriv), let place = try? TestPlace() else {
      return false
    }
    return (try? OtherUser(place).workerpool("--help").code) == 0
  }()

  private let executable: String

  /// The executable is copied, since the other user may have no way to where it was built.
  init(_ place: TestPlace) throws {
    executable = try Self.copy("workerpool", to: "workerpool", in: place)
  }

  /// Copies a built executable to where the other user can run it.
  static func copy(_ name: String, to copy: String, in place: TestPlace) throws -> String {
    try FileManager.default.copyItem(atPath: Built.path(name), toPath: place.path(copy))
    for path in [place.url.path, place.path(copy)] { try #require(chmod(path, 0o755) == 0) }
    return place.path(copy)
  }

  func workerpool(_ arguments: String...) throws -> Finished {
    try run(Self.command[0], Self.command.dropFirst() + [executable] + arguments)
  }
}

@Suite(
  .serialized, .enabled(if: OtherUser.isThere, "only root, with setpriv, can run a program as another user"))
struct OtherUserTests {
  @Test(.timeLimit(.minutes(20)))
  func theSocketsAreOutOfReachAndTheErrorSaysSo() throws {
    let items = try ItemPool()
    let stranger = try OtherUser(items.place)
    let pool = try items.start()
    chmod(items.queue, 0o755)
    let asked = try stranger.workerpool("status", "--queue", items.queue)
    #expect(asked.code == 1)
    #expect(asked.errors.contains("/run is closed to user \(OtherUser.id)"), "\(asked.errors)")
    try pool.stop()
  }

  /// A store in WAL mode is read without the right to make a log beside it.
  @Test(.timeLimit(.minutes(20)))
  func aStoreInAClosedDirectoryIsRead() throws {
    let place = try TestPlace()
    let directory = place.path("shared 100%")
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    let items = try ItemPool(in: place, store: "shared 100%/app.sqlite")
    let stranger = try OtherUser(place)
    for path in [items.place.url.path, directory] { try #require(chmod(path, 0o755) == 0) }
    try #require(chmod(items.store, 0o644) == 0)
    try #require(!FileManager.default.fileExists(atPath: items.store + "-wal"))
    let fetched = try stranger.workerpool(
      "fetch", "Item", "--json", "--store", items.store, "--model", items.model)
    #expect(fetched.code == 0 && fetched.lines.count == 1, "\(fetched)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["app.sqlite"])
  }

  /// The directory's mode is one fence, the kernel's word on who connects another: here the first one is broken.
  @Test(.timeLimit(.minutes(20)))
  func whoReachesTheStatusSocketIsKnownAndNotObeyed() throws {
    let items = try ItemPool()
    let stranger = try OtherUser(items.place)
    let pool = try items.start()
    for path in [items.queue, items.queue + "/run"] { chmod(path, 0o755) }
    chmod(items.queue + "/run/status.sock", 0o666)
    for command in ["stop", "status", "pause"] {
      let asked = try stranger.workerpool(command, "--queue", items.queue)
      #expect(asked.code == 1 && asked.output.isEmpty)
      #expect(asked.errors.contains("the pool did not answer"), "\(asked.errors)")
    }
    let status = try pool.status()
    #expect(status.phase == "running" && !status.isPaused)
    try pool.stop()
  }
}
