import Foundation
import Glibc
import Jobs
import LinuxSystem

/// The files in `run/jobs/` by which workers without access to the store learn of their jobs, and tell how these ended:
/// no parameter, error or output crosses the socket.
///
/// Before a worker gets a job, the pool writes the job's sheet, `p17.json`. It names the outcome file, which the worker
/// may write before it answers. The name contains the number of the handing out, so that nobody mistakes the outcome of
/// an earlier run for one of this run. Used on the queue of the source's context.
struct JobSheets {
  private let directory: String
  /// The jobs whose sheets are there, with the numbers of their handing out.
  private var runs: [JobKey: Int]

  /// Bytes of an outcome file that are read; one with the longest output and error has fewer.
  static let largestOutcome = 1 << 20

  /// - Parameter runs: jobs that have sheets, in the hands of workers that the program before this one in the process
  ///   had started.
  init(directory: String, runs: [JobKey: Int] = [:]) {
    self.directory = directory
    self.runs = runs
  }

  /// Removes what an earlier pool left. Most pools write no sheet, and have no directory.
  func prepare() {
    let kept = Set(runs.flatMap { key, run in [path(key), outcomePath(key, run: run)] })
    // A link leads to files that are not the pool's. Confined workers need a directory.
    if unlink(directory) == 0 { mkdir(directory, QueueLayout.privateMode) }
    // No directory, no sheets; one that cannot be read is told when a sheet is written.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    for name in names where !kept.contains(directory + "/" + name) { Self.delete(directory + "/" + name) }
  }

  /// Removes a file, or an empty directory that a worker has made in its place.
  private static func delete(_ path: String) { _ = Glibc.remove(path) }

  private func path(_ key: JobKey) -> String { "\(directory)/p\(key).json" }

  private func temporaryName(_ key: JobKey) -> String { "p\(key).new" }

  private func outcomePath(_ key: JobKey, run: Int) -> String { "\(directory)/p\(key)-\(run).outcome.json" }

  /// Writes the sheet of a job that is about to run. Called on the queue of the job's context.
  ///
  /// - Throws: ``JSONError`` for a row with parameters that are not JSON; ``FileError``.
  mutating func write(_ job: Job, _ key: JobKey, run: Int, timeout: Double?) throws {
    remove([key])
    // A worker of an earlier pool may have written its outcome after the start of this one, under the same number.
    for path in [path(key), "\(directory)/\(temporaryName(key))", outcomePath(key, run: run)] { Self.delete(path) }
    var members = [
      JSONMember("uri", .string(job.objectID.uriString)), JSONMember("kind", .string(job.kind)),
      JSONMember("queue", .string(job.queue)), JSONMember("attempt", .number(job.attemptNumber)),
      JSONMember("objects", .array(job.objectURIs.map(JSONValue.string))),
      JSONMember("parameters", try job.parameters), JSONMember("run", .number(run)),
      JSONMember("outcome", .string(outcomePath(key, run: run))),
    ]
    if let timeout { members.append(JSONMember("timeout", .number(timeout))) }
    var bytes: [UInt8] = []
    JSONValue.object(members).write(to: &bytes)
    // The first sheet makes it. It may have been removed since.
    if access(directory, F_OK) != 0 { mkdir(directory, QueueLayout.privateMode) }
    runs[key] = run
    try ReplacingFile.write(
      bytes, to: path(key), mode: 0o600, temporaryName: temporaryName(key), surviving: .processes)
  }

  /// What a worker wrote of the end of a job; empty without a file.
  ///
  /// - Throws: ``JobSheetError`` for a file that cannot be used.
  func outcome(of key: JobKey, run: Int) throws(JobSheetError) -> ToldOutcome {
    let path = outcomePath(key, run: run)
    do {
      let file = try GuardedFile(path, path: path)
      return try ToldOutcome(try file.bytes(atMost: Self.largestOutcome))
    } catch GuardedFile.Refusal.missing {
      return ToldOutcome()
    } catch {
      throw JobSheetError(reason: "\(error)")
    }
  }

  /// Removes the files of jobs that have left their worker's hand.
  mutating func remove(_ keys: [JobKey]) {
    for key in keys {
      guard let run = runs.removeValue(forKey: key) else { continue }
      Self.delete(path(key))
      Self.delete(outcomePath(key, run: run))
    }
  }
}

/// An outcome file that cannot be used.
struct JobSheetError: Error, CustomStringConvertible {
  let reason: String

  var description: String { "the outcome file that the worker wrote cannot be used: \(reason)" }
}

/// What a worker's outcome file says.
struct ToldOutcome: Equatable {
  /// A text for people.
  var output: String?
  /// The type of the error, a word.
  var type: String?
  /// What went wrong.
  var message: String?
  /// Whether no other attempt can succeed.
  var isPermanent = false

  init() {}

  init(_ bytes: [UInt8]) throws {
    var fields = try JSONFields(try JSONParser.parse(String(decoding: bytes, as: UTF8.self)), named: "the outcome")
    // A server takes no zero bytes, and the job would never be settled.
    output = try fields.string("output")?.replacing("\0", with: "\u{FFFD}")
    type = try fields.string("type")
    message = try fields.string("message")
    isPermanent = try fields.bool("permanent") ?? false
    try fields.finish()
  }
}
