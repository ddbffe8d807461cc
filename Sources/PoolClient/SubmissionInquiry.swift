import Foundation
import Jobs
import LinuxSystem

/// Asks the pool for the jobs of a submission, until the pool has taken its file.
///
/// The file is the submission: once it is in the queue directory, no job is lost or doubled, even if this process or
/// the pool dies. An inquiry may be given up and repeated at any time.
///
/// ```swift
/// import PoolClient
///
/// var request = JobRequest(kind: "import", parameters: #"{"file": "/data/books.csv"}"#)
/// request.submission = UUID().uuidString
/// let file = try JobSubmission(queue: "queue/").submit([request])
/// switch SubmissionInquiry(queue: "queue/", token: request.submission ?? "", file: file).ask(timeout: 10) {
/// case .taken(let submission): print(submission.jobURIs)
/// case .rejected(let reason), .unknown(let reason): print(reason)
/// }
/// ```
public struct SubmissionInquiry {
  /// The result of an inquiry.
  ///
  /// After `unknown`, ask again with another inquiry for the same token and file: the pool remembers a token for a day
  /// at least, and longer while the jobs are in the store.
  public enum Answer {
    /// The jobs are in the store.
    case taken(StatusReply.Submission)
    /// The pool does not accept the file, for this reason.
    case rejected(String)
    /// Nothing is known yet, for this reason: the file waits, and a later inquiry finds the result.
    case unknown(String)
  }

  private let queue: String
  private let token: String
  private let file: String

  /// An inquiry about one file.
  ///
  /// - Parameters:
  ///   - queue: the path of the queue directory.
  ///   - token: the ``JobRequest/submission`` of the file's first job.
  ///   - file: the path that the job file had in the queue directory.
  public init(queue: String, token: String, file: String) {
    self.queue = queue
    self.token = token
    self.file = file
  }

  /// Seconds of one request; between two of them the file is looked for among the rejected ones.
  private static let step = 0.5
  /// Seconds until a pool that does not answer is asked again.
  private static let pause = 0.1

  /// Asks for `timeout` seconds at most, and blocks the thread meanwhile. Returns at once where no pool runs, or when
  /// the file is taken or rejected. It never throws: what is not known is ``Answer/unknown(_:)``.
  ///
  /// ```swift
  /// import PoolClient
  ///
  /// let inquiry = SubmissionInquiry(queue: "queue/", token: "nightly 2026-01-01", file: "queue/incoming/a.json")
  /// if case .taken(let submission) = inquiry.ask(timeout: 30) { print(submission.store) }
  /// ```
  public func ask(timeout: Double) -> Answer {
    let end = Clock.now + timeout
    while true {
      let reason: String
      do {
        let reply = try StatusClient(queue: queue).request(
          StatusRequest(.submission, deadline: min(timeout, Self.step), submission: token),
          within: Self.step + max(0.5, end - Clock.now))
        if let submission = reply.submission { return .taken(submission) }
        reason = reply.error ?? "the pool sent no answer"
      } catch .notRunning {
        return rejection ?? .unknown("no pool is running on \(queue)")
      } catch {
        reason = "\(error)"
      }
      if let rejection { return rejection }
      guard Clock.now < end else { return .unknown(reason) }
      Thread.sleep(forTimeInterval: Self.pause)
    }
  }

  /// The reason in the file beside a rejected one.
  private var rejection: Answer? {
    let name = URL(fileURLWithPath: file).lastPathComponent
    // If there is no such file, the job file was not rejected.
    guard let text = try? String(contentsOfFile: "\(QueueLayout(root: queue).rejected)/\(name).error", encoding: .utf8)
    else { return nil }
    let reason = text.split(separator: "\n").first.map(String.init) ?? ""
    return .rejected(reason.hasPrefix("\(name): ") ? String(reason.dropFirst(name.count + 2)) : reason)
  }
}
