import PoolClient
import Foundation
import Glibc

/// The demo's pool: `workerpool run` in a process of its own.
final class DemoPool {
  private let process = Process()
  private let directory: DemoDirectory
  let client: StatusClient

  var pid: Int32 { process.processIdentifier }

  /// Starts the pool and waits until it answers.
  init(directory: DemoDirectory, executable: String, workers: Int) throws {
    self.directory = directory
    try Data().write(to: URL(fileURLWithPath: directory.log))
    let log = try FileHandle(forWritingTo: URL(fileURLWithPath: directory.log))
    process.executableURL = URL(fileURLWithPath: executable)
    process.arguments = [
      "run", "--workers", String(workers), "--with-parent", "--workers", "index=\(workers)", "--store", directory.store,
      "--model", directory.model, "--queue", directory.queue,
    ]
    process.standardOutput = log
    process.standardError = log
    process.standardInput = FileHandle.nullDevice
    try process.run()
    var client: StatusClient?
    while client == nil {
      guard process.isRunning else { throw DemoError.poolDidNotStart(log: Self.text(directory)) }
      // A pool whose store is not open yet answers, and closes these connections when it is.
      if let asked = try? StatusClient(queue: directory.queue),
        (try? asked.request(StatusRequest(.status), within: 10))?.status?.phase == "running"
      {
        client = asked
      } else {
        Thread.sleep(forTimeInterval: 0.02)
      }
    }
    guard let client else { throw DemoError.poolDidNotStart(log: Self.text(directory)) }
    self.client = client
  }

  /// How the pool is doing.
  func status() throws -> PoolStatus {
    // The pool's log, in the error below, says more than the error of the connection.
    guard let status = try? client.request(StatusRequest(.status)).status else {
      throw DemoError.poolEnded(log: Self.text(directory))
    }
    return status
  }

  /// Lets the pool finish, and waits for its end.
  func stop() {
    guard process.isRunning else { return }
    process.terminate()
    process.waitUntilExit()
  }

  private static func text(_ directory: DemoDirectory) -> String {
    // The error that shows it is worth having without the log.
    (try? String(contentsOfFile: directory.log, encoding: .utf8)) ?? ""
  }
}
