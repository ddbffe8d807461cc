import Foundation
import LinuxSystem
import WorkerPool

/// Seconds over which a person can follow what happens.
private let demoPace = 18

let demoCommand = CommandDescription(
  name: "demo", summary: "Show the whole thing on the text files of a folder",
  discussion: """
    Makes a temporary store, starts a pool with 2 workers on it, submits one index job for each text
    file, kills a worker on the way, and reports what the store holds at the end. Everything is removed
    afterwards. On a terminal the jobs come over some seconds, so that the pool can be watched.
    """,
  operands: [
    Operand(name: "FOLDER", help: "where to look for text files; without it, the current folder", isOptional: true)
  ],
  options: [
    CommandOption(name: "keep", help: "keep the temporary folder with the store, and say where it is"),
    CommandOption(
      name: "seconds", value: "N", help: "seconds over which the jobs come; 0 submits all at once",
      defaultText: "\(demoPace) on a terminal, else 0"),
  ],
  run: { arguments in
    let folder = arguments.operands.first ?? FileManager.default.currentDirectoryPath
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: folder, isDirectory: &isDirectory), isDirectory.boolValue else {
      throw UsageError("\(folder) is not a folder")
    }
    // When its output has no reader any more, the demo goes on to its end, where it cleans up.
    signal(SIGPIPE, SIG_IGN)
    var demo = Demo(
      folder: folder, executable: PoolConfiguration.executablePath,
      layout: Output.canBeDrawnOver() ? Output.layout : nil,
      output: { Output.textIfRead($0) })
    demo.rows = Output.terminalSize.rows
    demo.pace = Double(try arguments.int("seconds", in: 0...3600) ?? (Output.isTerminal ? demoPace : 0))
    demo.keepsFiles = arguments.has("keep")
    try demo.run()
    return .success
  })
