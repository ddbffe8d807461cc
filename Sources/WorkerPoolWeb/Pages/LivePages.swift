import Dispatch
import Foundation
import LinuxSystem

/// The pages that browsers look at now: each is made again from time to time, and sent when it has changed.
///
/// `@unchecked Sendable`: what changes is used on the queue only.
final class LivePages: @unchecked Sendable {
  private struct Viewer {
    let stream = EventStream()
    let request: HTTPRequest
    let visitor: Visitor
    var shown = 0
    /// When the page is made next; never while it is being made.
    var nextAt = 0.0
    var heardAt = Clock.now
  }

  let queue = DispatchQueue(label: "workerpool-web.live")
  private let lanes: SiteLanes
  private let sessions: Sessions
  private let timer: any DispatchSourceTimer
  private var viewers: [Int: Viewer] = [:]
  private var count = 0

  /// Browsers that are served at a time.
  static let most = 24
  /// Seconds between two looks at a page.
  static let interval = 2.0
  /// Seconds after which a browser hears a sign of life, so that one that is gone is noticed: until then its page
  /// counts among those that are live.
  private static let silence = 2.0

  init(_ lanes: SiteLanes, _ sessions: Sessions) {
    self.lanes = lanes
    self.sessions = sessions
    timer = DispatchSource.makeTimerSource(queue: queue)
  }

  func start() {
    timer.schedule(deadline: .now(), repeating: .milliseconds(250), leeway: .milliseconds(50))
    timer.setEventHandler { [weak self] in self?.look() }
    timer.resume()
  }

  /// Begins to serve a browser. On the queue.
  func add(_ request: HTTPRequest, for visitor: Visitor) -> HTTPResponse {
    removeClosed()
    // The oldest makes room: more likely than others it is one that was left, which shows only when something is sent.
    if viewers.count >= Self.most, let oldest = viewers.keys.min() { viewers.removeValue(forKey: oldest)?.stream.end() }
    let page = HTTPRequest(method: "GET", target: request.query["page"] ?? "/")
    let viewer = Viewer(request: page, visitor: visitor)
    count += 1
    viewers[count] = viewer
    viewer.stream.sendSignOfLife()
    return HTTPResponse(events: viewer.stream)
  }

  private func removeClosed() {
    viewers = viewers.filter { !$0.value.stream.isClosed }
  }

  /// Has the pages made whose time has come. Called a few times a second.
  private func look() {
    removeClosed()
    for (number, viewer) in viewers {
      // A page in an open browser counts as use of the session. After a logout it is not sent any more.
      guard sessions.use(viewer.visitor.session) != nil else {
        viewers.removeValue(forKey: number)?.stream.end()
        continue
      }
      if Clock.now - viewer.heardAt > Self.silence {
        viewer.stream.sendSignOfLife()
        viewers[number]?.heardAt = Clock.now
      }
      guard viewer.nextAt <= Clock.now else { continue }
      viewers[number]?.nextAt = .infinity
      lanes.perform(viewer.request) { [self] site in
        let start = Clock.now
        let page = site.page(viewer.request, for: viewer.visitor)
        let text = site.frame(page).document
        // A page that takes long is made less often: all live pages together leave the queues free most of the time.
        let next = page.isLive ? Clock.now + max(Self.interval, (Clock.now - start) * 10) : .infinity
        queue.async { self.show(text, to: number, next: next) }
      }
    }
  }

  private func show(_ text: String, to number: Int, next: Double) {
    guard var viewer = viewers[number] else { return }
    let hash = text.hashValue
    if hash != viewer.shown {
      viewer.stream.send(event: "page", data: text)
      viewer.shown = hash
      viewer.heardAt = Clock.now
    }
    viewer.nextAt = next
    viewers[number] = viewer
  }
}
