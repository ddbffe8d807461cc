import Foundation
import Glibc

/// The demo's pool: `workerpool run` in a process of its own.
final class DemoPool {
  private let process = Process()
  private let place: DemoPlace
  let client: StatusClient

  var pid: Int32 { process.processIdentifier }

  /// Starts the pool and waits until it answers.
  init(place: DemoPlace, executable: String, workers: Int) throws {
    self.place = place
    try Data().write(to: URL(fileURLWithPath: place.log))
    let log = try FileHandle(forWritingTo: URL(fileURLWithPath: place.log))
    process.executableURL = URL(fileURLWithPath: executable)
    process.arguments = [
      "run", "--workers", String(workers), "--with-parent", "--workers", "index=\(workers)", "--store", place.store,
      "--model",
      place.model, "--queue", place.queue,
    ]
    process.standardOutput = log
    process.standardError = log
    process.standardInput = FileHandle.nullDevice
    try process.run()
    var client: StatusClient?
    while client == nil {
      guard process.isRunning else { throw DemoError.poolDidNotStart(log: Self.text(place)) }
      client = try? StatusClient(queue: place.queue)
      if client == nil { Thread.sleep(forTimeInterval: 0.02) }
    }
    guard let client else { throw DemoError.poolDidNotStart(log: Self.text(place)) }
    self.client = client
  }

  /// How the pool is doing.
  func status() throws -> PoolStatus {
    guard let status = try? client.request(StatusRequest(.status)).status else {
      throw DemoError.poolEnded(log: Self.text(place))
    }
    return status
  }

  /// Lets the pool finish, and waits for its end.
  func stop() {
    guard process.isRunning else { return }
    process.terminate()
    process.waitUntilExit()
  }

  private static func text(_ place: DemoPlace) -> String {
    (try? String(contentsOfFile: place.log, encoding: .utf8)) ?? ""
  }
}
