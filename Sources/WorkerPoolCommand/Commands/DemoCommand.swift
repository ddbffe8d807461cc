import Foundation
import WorkerPool

let demoCommand = CommandDescription(
  name: "demo", summary: "Show the whole thing on the text files of a folder",
  discussion: """
    Makes a temporary store, starts a pool with 2 workers on it, submits one index job for each text
    file, kills a worker on the way, and reports what the store holds at the end. Everything is removed
    afterwards.
    """,
  operands: [
    Operand(name: "FOLDER", help: "where to look for text files; without it, the current folder", isOptional: true)
  ],
  options: [CommandOption(name: "keep", help: "keep the temporary folder with the store, and say where it is")],
  run: { arguments in
    let folder = arguments.operands.first ?? FileManager.default.currentDirectoryPath
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: folder, isDirectory: &isDirectory), isDirectory.boolValue else {
      throw UsageError("\(folder) is not a folder")
    }
    // When its output has no reader any more, the demo goes on to its end, where it cleans up.
    signal(SIGPIPE, SIG_IGN)
    var demo = Demo(
      folder: folder, executable: PoolConfiguration.executablePath, isTerminal: Output.isTerminal,
      output: { Output.textIfRead($0) })
    demo.keepsFiles = arguments.has("keep")
    try demo.run()
    return .success
  })
