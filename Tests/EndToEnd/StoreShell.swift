import Foundation

/// A process that is none of the pool's and uses the store: the `sqlite3` shell, until it is let go.
final class StoreShell {
  private let shell = Process()
  private let input = Pipe()

  var pid: Int32 { shell.processIdentifier }

  /// Runs the statements, and returns when they have been run.
  init(store: String, _ statements: String) throws {
    shell.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    // Without stdbuf its output would wait for its end.
    shell.arguments = ["stdbuf", "-o0", "sqlite3", store]
    let output = Pipe()
    shell.standardInput = input
    shell.standardOutput = output
    try shell.run()
    try output.fileHandleForWriting.close()
    input.fileHandleForWriting.write(Data("\(statements)\n.print ready\n".utf8))
    let lines = LineReader(output.fileHandleForReading)
    while let line = lines.next(), line != "ready" {}
  }

  deinit {
    if shell.isRunning { shell.terminate() }
  }

  /// Ends the shell, and with it its locks and transactions.
  func letGo() throws {
    try input.fileHandleForWriting.close()
    shell.waitUntilExit()
  }
}
