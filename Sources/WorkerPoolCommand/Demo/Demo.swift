import CoreData
import Documents
import Jobs
import PoolClient

/// The whole pool in one run: a temporary store, a pool of two workers, an index job for each text file of a folder, a
/// worker that is killed on the way and replaced, and a report by a long fetch at the end.
struct Demo {
  /// The folder whose text files are indexed, with its subfolders.
  var folder: String
  /// The `workerpool` executable, which is started as the pool.
  var executable: String
  /// Whether the temporary folder with the store is kept.
  var keepsFiles = false
  /// How the terminal shows text; nil where lines cannot be written over.
  var layout: TextLayout?
  /// The rows of the terminal.
  var rows = 24
  /// Seconds over which the jobs come; 0 for all at once.
  var pace = 0.0
  /// Called with each piece of output.
  var output: (String) -> Void

  /// No more files are indexed.
  static let mostFiles = 2000
  static let workers = 2
  /// Seconds between two requests for the status.
  static let interval = 0.1

  /// - Parameters:
  ///   - folder: where the text files are, with its subfolders.
  ///   - executable: the path of `workerpool`.
  ///   - layout: how the terminal shows text; nil where lines cannot be written over.
  ///   - output: called with each piece of output.
  init(folder: String, executable: String, layout: TextLayout?, output: @escaping (String) -> Void) {
    self.folder = folder
    self.executable = executable
    self.layout = layout
    self.output = output
  }

  /// Runs the demo from beginning to end, and removes its files.
  ///
  /// - Throws: ``DemoError``, and what its parts throw.
  func run() throws {
    Interruption.catchSignals()
    let files = try TextFiles(folder: folder, limit: Self.mostFiles).paths
    guard !files.isEmpty else { throw DemoError.noFiles(folder) }
    let directory = try DemoDirectory()
    defer { if !keepsFiles { directory.remove() } }
    say("\(files.count) text files in \(folder); store, model and queue are in \(directory.path)")
    let pool = try DemoPool(directory: directory, executable: executable, workers: Self.workers)
    defer { pool.stop() }
    say("pool \(pool.pid) is up with \(Self.workers) workers")
    try DemoWatch(
      pool: pool, jobs: files.map(job), submission: try JobSubmission(queue: directory.queue), pace: pace,
      view: DemoView(layout: layout, rows: rows, output: output)
    ).run()
    try DemoReport(directory: directory, output: output).run()
    if keepsFiles { say("kept in \(directory.path)") }
    sayWhatIsNext(directory)
  }

  /// Short lines, which fit a narrow terminal. A program that the shell does not find is named by its path.
  private func sayWhatIsNext(_ directory: DemoDirectory) {
    let command = ShellWord.quoted(isFoundByShell ? "workerpool" : executable)
    if keepsFiles {
      let queue = ShellWord.quoted(directory.queue)
      say("Look at its jobs in a browser: \(command) web --queue \(queue) --store \(ShellWord.quoted(directory.store))")
    } else {
      say("Keep such a store: \(command) demo --keep \(ShellWord.quoted(folder))")
    }
    say("Run a pool on your app's store: \(command) help run")
    say("Give it jobs, write a worker: README.md, \"Five tasks\"")
  }

  private var isFoundByShell: Bool {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    let program = folders.lazy.map { "\($0)/workerpool" }.first(where: FileManager.default.isExecutableFile)
    return program.map { URL(fileURLWithPath: $0).resolvingSymlinksInPath().path } == executable
  }

  private func job(_ path: String) -> JobRequest {
    JobRequest(kind: "index", parameters: JSONValue.object([JSONMember("file", .string(path))]).text)
  }

  private func say(_ line: String) { output(line + "\n") }
}

/// Why the demo cannot go on.
enum DemoError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The folder has no text files.
  case noFiles(String)
  /// The pool ended before it answered; with its log.
  case poolDidNotStart(log: String)
  /// The pool ended while the demo ran; with its log.
  case poolEnded(log: String)
  /// This many jobs are dead.
  case jobsFailed(Int)
  /// A signal asked the demo to stop.
  case interrupted

  /// What went wrong, in one sentence.
  var description: String {
    switch self {
    case .noFiles(let folder): "there are no text files in \(folder)"
    case .poolDidNotStart(let log): "the pool did not start; it said:\n\(log)"
    case .poolEnded(let log): "the pool has ended; it said:\n\(log)"
    case .jobsFailed(let count): "\(count) jobs are dead"
    case .interrupted: "interrupted"
    }
  }
}

/// The temporary directory with the files of the demo.
struct DemoDirectory {
  let path: String
  var store: String { path + "/demo.sqlite" }
  var queue: String { path + "/queue" }
  var log: String { path + "/pool.log" }
  var model: String { path + "/Documents.mom" }

  init() throws {
    let directory = FileManager.default.temporaryDirectory
      .appendingPathComponent("workerpool-demo-\(UUID().uuidString.prefix(8).lowercased())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    path = directory.path
    try DocumentsModel.write(to: URL(fileURLWithPath: model))
  }

  // A directory that stays is a temporary one.
  func remove() { try? FileManager.default.removeItem(atPath: path) }
}

/// The text files below a folder.
struct TextFiles {
  let paths: [String]

  /// Larger files are passed over, in bytes.
  private static let largest = 4 << 20

  init(folder: String, limit: Int) throws {
    // Jobs name files by absolute paths.
    let root = URL(fileURLWithPath: folder).absoluteURL
    let keys: [URLResourceKey] = [.isRegularFileKey, .fileSizeKey]
    guard
      let files = FileManager.default.enumerator(
        at: root, includingPropertiesForKeys: keys, options: [.skipsHiddenFiles])
    else { throw DemoError.noFiles(folder) }
    var paths: [String] = []
    for case let file as URL in files {
      // A file that cannot be examined is passed over, like those of other kinds.
      let values = try? file.resourceValues(forKeys: Set(keys))
      guard values?.isRegularFile == true, let size = values?.fileSize, (1...Self.largest).contains(size),
        Self.isText(file)
      else { continue }
      paths.append(file.path)
      if paths.count == limit { break }
    }
    self.paths = paths.sorted()
  }

  /// Whether the beginning of the file is UTF-8 without a zero byte.
  private static func isText(_ file: URL) -> Bool {
    // A file that cannot be read is passed over.
    guard let handle = try? FileHandle(forReadingFrom: file), let head = try? handle.read(upToCount: 4096) else {
      return false
    }
    // A character may be cut in two at the end of what was read.
    return !head.contains(0)
      && (0...3).contains { String(validating: head.dropLast($0), as: UTF8.self) != nil }
  }
}
