import Foundation
import Jobs
import LinuxSystem
import PoolClient
import Synchronization

/// The pages: what each address shows and what each form does. One queue owns it; ``SiteLanes`` has several.
final class Site {
  let queue: String
  let monitor: PoolMonitor
  let access: Access
  let changes: JobChanges
  /// The path of the store when it was named; else the pool tells it.
  private let namedStore: String?
  private var jobReader: JobReader?
  var finished = FinishedJobs()
  var failures = CurrentFailures()
  var activity = GroupActivity()
  private let notices: Notices
  /// Who sees the page that is made now.
  private(set) var visitor = Visitor(session: "", formKey: "", role: .look, name: nil)

  init(queue: String, store: String?, monitor: PoolMonitor, access: Access) {
    self.queue = queue
    self.monitor = monitor
    self.access = access
    namedStore = store
    changes = JobChanges(queue: queue)
    notices = Notices()
  }

  /// The same site for another queue: what one does shows on the pages of all.
  init(beside other: Site) {
    queue = other.queue
    monitor = other.monitor
    access = other.access
    namedStore = other.namedStore
    changes = other.changes
    notices = other.notices
  }

  var forms: Forms { Forms(key: visitor.formKey, isReadOnly: visitor.isReadOnly) }

  // MARK: Requests

  func answer(_ request: HTTPRequest, for visitor: Visitor) -> HTTPResponse {
    self.visitor = visitor
    if request.method == "POST" { return change(request) }
    let page = page(request, for: visitor)
    return HTTPResponse(page.status, frame(page))
  }

  /// The page with its frame.
  func frame(_ page: Layout.Page) -> HTML {
    Layout.html(page, pool: poolLine(monitor.latest), visitor: visitor)
  }

  /// The page at an address; a page that cannot be made says why.
  func page(_ request: HTTPRequest, for visitor: Visitor) -> Layout.Page {
    self.visitor = visitor
    let part = Layout.parts.first { $0.address.text == "/" + (request.parts.first ?? "") }?.name ?? ""
    do {
      var page =
        try content(request)
        ?? Layout.Page(
          title: "Not found", part: part, content: titled("Not found", problem("There is no such page.", nil)),
          isLive: false, status: 404)
      if let notice = request.query["notice"].flatMap(Int.init).flatMap({ notices[$0] }) {
        page.content = HTML([message(notice), page.content])
      }
      if let change = request.query["change"].flatMap(Int.init).flatMap({ changes[$0] }) {
        page.content = HTML([message(change.text, isTrouble: change.problem != nil), page.content])
      }
      return page
    } catch let error as PageError {
      return Layout.Page(
        title: part, part: part, content: titled(part, problem(error.text, error.advice)), isLive: error.passes,
        status: error.status ?? (error.passes ? 200 : 503))
    } catch let error as ObjectQueryError {
      return Layout.Page(
        title: part, part: part,
        content: titled(part, problem("The condition cannot be used: \(error).", "Go back and change it.")),
        isLive: false, status: 400)
    } catch {
      jobReader = nil
      return Layout.Page(
        title: part, part: part,
        content: titled(
          part,
          problem(
            "The store cannot be read now: \(ErrorText.text(error))",
            "This page tries again by itself, or load it again.")))
    }
  }

  private func content(_ request: HTTPRequest) throws -> Layout.Page? {
    let parts = request.parts
    switch (parts.first, parts.count) {
    case (nil, 0): return overview(Period(rawValue: request.query["period"] ?? "") ?? .hour)
    case ("queues", 1): return try queues()
    case ("kinds", 1): return try kinds()
    case ("workers", 1): return try workers()
    case ("workers", 2): return try worker(parts[1])
    case ("periodic", 1): return try periodic()
    case ("jobs", 1):
      if let search = request.query["search"], let key = ObjectURI.key(name: search) ?? jobKey(uri: search) {
        return try job(key)
      }
      return try jobs(JobList(request.query))
    case ("jobs", 2):
      guard let key = ObjectURI.key(name: parts[1]) else { return nil }
      return try job(key)
    case ("change", 1):
      guard let change = request.query["do"].flatMap(JobChange.init) else { return nil }
      return try preview(change, request.query)
    default: return nil
    }
  }

  // A store that cannot be read knows no URI: the text is searched for as it is.
  private func jobKey(uri: String) -> Int64? { (try? openJobReader()).flatMap { $0.reader.jobURIs.key(uri) } }

  // MARK: What pages need

  /// The store's jobs; opened when they are needed first, and again when the pool has another store.
  func openJobReader() throws -> JobReader {
    guard let path = namedStore ?? monitor.latest.status?.store else {
      throw PageError(
        text: "The jobs cannot be shown: no pool has answered yet, so that it is not known where its store is.",
        advice: "Start the pool (workerpool run), or name the store: workerpool web --store FILE.")
    }
    if let jobReader, jobReader.path == path { return jobReader }
    let opened = try JobReader(path: path)
    jobReader = opened
    return opened
  }

  /// The status, for pages that show nothing without it.
  func status() throws -> PoolStatus {
    let latest = monitor.latest
    guard latest.isRunning, let status = latest.status else { throw PageError(latest, queue: queue) }
    return status
  }

  private func poolLine(_ latest: PoolMonitor.Observation) -> String {
    guard latest.isRunning, let status = latest.status else { return "no pool answers on \(queue)" }
    var text = "pool \(status.pid) on \(queue), \(status.phase) for \(StatusText.duration(status.age))"
    if status.isPaused { text += ", paused" }
    return text
  }

  /// Leads on to a page that tells what was done.
  func done(_ text: String, _ path: [String], query: [(String, String?)] = []) -> HTTPResponse {
    HTTPResponse(seeOther: Address(path: path, query: query + [("notice", String(notices.add(text)))]))
  }

  func message(_ text: String, isTrouble: Bool = false) -> HTML {
    guard !text.isEmpty else { return .nothing }
    return tag("div", .class(isTrouble ? "message trouble" : "message"), Attribute("role", "status")) {
      tag("p") { text }
    }
  }

  private func titled(_ title: String, _ content: HTML) -> HTML {
    HTML([title.isEmpty ? .nothing : tag("h1") { title }, content])
  }

  func problem(_ text: String, _ advice: String?) -> HTML {
    tag("div", .class("message trouble"), Attribute("role", "alert")) {
      tag("p") { text }
      if let advice { tag("p") { advice } }
    }
  }
}

/// What was done, for the pages to which it leads. Used by all queues.
final class Notices: Sendable {
  private let texts = Mutex<[String]>([])
  /// Older ones have been read.
  private static let kept = 1000

  /// Returns the notice's number.
  func add(_ text: String) -> Int {
    texts.withLock { texts in
      texts.append(text)
      // The numbers of old notices stay taken.
      if texts.count > Self.kept { texts[texts.count - Self.kept - 1] = "" }
      return texts.count - 1
    }
  }

  subscript(number: Int) -> String? { texts.withLock { $0.indices.contains(number) ? $0[number] : nil } }
}

/// Why a page cannot be shown, and what to do.
struct PageError: Error {
  let text: String
  let advice: String?
  /// Whether the page may be shown a little later.
  var passes = true
  /// The status of the answer; nil where ``passes`` decides it.
  var status: UInt32?

  init(text: String, advice: String?) {
    self.text = text
    self.advice = advice
  }

  /// These pages do not do what is asked for.
  static func forbidden(_ text: String) -> PageError {
    var error = PageError(text: text, advice: nil)
    error.passes = false
    error.status = 403
    return error
  }

  /// The statements for a page took longer than they may.
  static func tooLong(_ seconds: Double) -> PageError {
    var error = PageError(
      text: "The search was ended after \(Int(seconds)) seconds, before all jobs were looked at.",
      advice: "Choose fewer jobs by state, kind, queue or batch, or simplify the condition. "
        + "workerpool jobs --where on the command line takes its time.")
    error.passes = false
    return error
  }

  init(_ latest: PoolMonitor.Observation, queue: String) {
    text = "The pool does not answer: \(latest.problem ?? "it was not asked yet")."
    advice =
      "Start it with workerpool run --queue \(ShellWord.quoted(queue)) and its store. This page comes back by itself."
  }
}
