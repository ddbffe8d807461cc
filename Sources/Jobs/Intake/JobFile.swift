import CoreData
import Glibc

/// Reads a job file: one JSON object, or one per line.
///
/// ```text
/// {"kind": "index", "objects": ["x-coredata://…/Document/p42"], "parameters": {…}, "priority": 0,
///  "queue": "default", "runAt": "2026-01-01T00:00:00Z", "unique": "key", "maxAttempts": 5, "timeout": 60}
/// ```
///
/// All keys are in ``keys``; only `kind` is required. The reader is strict, because its jobs run later and elsewhere:
/// an unknown key, a value of another type or out of range, or a member given twice is an error of the whole file.
///
/// ```swift
/// let jobs = try JobFile.parse(Array(#"{"kind": "index"}"#.utf8))
/// print(jobs[0].kind, jobs[0].queue)  // index default
/// ```
public enum JobFile {
  /// The largest file that is read, in bytes; larger ones are rejected unread.
  public static let maximumSize = 16 << 20
  /// How many jobs a file may hold: they are taken in one transaction, and are all in memory until it ends.
  public static let maximumJobs = 100_000

  /// The jobs of a file, in their order.
  ///
  /// ```swift
  /// do {
  ///   _ = try JobFile.parse(Array(#"{"kind": "index", "priorty": 5}"#.utf8))
  /// } catch let error as JobFileError {
  ///   print(error)  // line 1: unknown key "priorty"; did you mean "priority"?
  /// }
  /// ```
  ///
  /// A job may stand on several lines, and two may not share one: so the line in an error is that of one job. The
  /// memory is that of the bytes and of the requests; 100,000 jobs are read in a fraction of a second.
  ///
  /// - Throws: ``JobFileError`` for the first thing that is wrong.
  public static func parse(_ bytes: [UInt8]) throws(JobFileError) -> [JobRequest] {
    guard bytes.count <= maximumSize else {
      throw JobFileError(line: nil, reason: "is larger than \(maximumSize) bytes")
    }
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
      throw JobFileError(line: 1, reason: "starts with a byte order mark; plain UTF-8 is expected")
    }
    var parser = JSONParser(bytes)
    var jobs: [JobRequest] = []
    var labels: Set<String> = []
    var lines = LineCounter()
    var plain = PlainReader()
    do {
      while !parser.isAtEnd {
        let line = lines.line(at: parser.position, in: bytes)
        if !jobs.isEmpty, !lines.isFirstOnLine {
          throw JobFileError(line: line, reason: "each job stands on a line of its own")
        }
        var job = JobRequest(kind: "")
        if !plain.read(&job, from: &parser) { job = try request(try parser.value(), line: line) }
        try checkLabels(of: job, &labels, line: line)
        guard job.submission == nil || jobs.isEmpty else {
          throw JobFileError(
            line: line, reason: "\"submission\" is a token for the whole file and belongs on its first line")
        }
        guard jobs.count < maximumJobs else {
          throw JobFileError(line: nil, reason: "holds more than \(maximumJobs) jobs; write several files")
        }
        // Most files hold lines of one length. An array that grows is copied again and again.
        if jobs.count == 1 { jobs.reserveCapacity(min(maximumJobs, 2 * bytes.count / parser.position + 2)) }
        jobs.append(job)
        lines.note(end: parser.position, in: bytes)
      }
    } catch let error as JobFileError {
      throw error
    } catch let error as JSONError {
      throw JobFileError(line: error.line, reason: "column \(error.column): \(error.reason)")
    } catch {
      throw JobFileError(line: nil, reason: "\(error)")
    }
    guard !jobs.isEmpty else { throw JobFileError(line: nil, reason: "holds no job") }
    return jobs
  }

  /// A label names one job, and a job waits for earlier lines only, so that no job waits for itself.
  private static func checkLabels(
    of job: JobRequest, _ labels: inout Set<String>, line: Int
  ) throws(JobFileError) {
    for name in job.options.after where ObjectURI(name) == nil && !labels.contains(name) {
      let hint = Spelling.hint(to: name, among: labels, .quotes)
      throw JobFileError(line: line, reason: "\"after\" names \"\(name)\", the label of no earlier line\(hint)")
    }
    guard let label = job.label else { return }
    guard labels.insert(label).inserted else {
      throw JobFileError(line: line, reason: "the label \"\(label)\" stands twice in the file")
    }
  }

  /// The text of a file with these jobs, one per line. ``parse(_:)`` reads the same jobs from it.
  ///
  /// ```swift
  /// print(try JobFile.text([JobRequest(kind: "index"), JobRequest(kind: "export", priority: 5)]))
  /// // {"kind":"index"}
  /// // {"kind":"export","priority":5}
  /// ```
  ///
  /// - Throws: ``JSONError`` when the parameters of a job are not JSON.
  public static func text(_ jobs: some Sequence<JobRequest>) throws(JSONError) -> String {
    var text = ""
    for job in jobs { text += try job.line() + "\n" }
    return text
  }
}

/// Why a job file is rejected, and where.
public struct JobFileError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The line, from 1; nil when the whole file is meant.
  public let line: Int?
  /// What is wrong there.
  public let reason: String

  /// The line, where one is meant, and the reason.
  public var description: String { line.map { "line \($0): \(reason)" } ?? "the file \(reason)" }
}

/// Counts the lines of the whole file once instead of from the start for each job.
private struct LineCounter {
  private var counted = 0
  private var newlines = 0
  private(set) var isFirstOnLine = true

  mutating func line(at position: Int, in bytes: [UInt8]) -> Int {
    let before = newlines
    note(end: position, in: bytes)
    isFirstOnLine = newlines > before
    return newlines + 1
  }

  /// A search costs less than a look at each byte.
  mutating func note(end: Int, in bytes: [UInt8]) {
    bytes.withUnsafeBytes { bytes in
      while counted < end, let found = memchr(bytes.baseAddress! + counted, 0x0A, end - counted) {
        newlines += 1
        counted = UnsafeRawPointer(found) - bytes.baseAddress! + 1
      }
    }
    counted = end
  }
}
