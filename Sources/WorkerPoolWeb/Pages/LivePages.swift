import Dispatch
import Foundation
import LinuxSystem

/// The pages that browsers look at now: each is made again from time to time, and sent when it has changed.
///
/// The queue of the ``Site`` owns it.
final class LivePages {
  private final class Viewer {
    let stream = EventStream()
    let request: HTTPRequest
    var shown = 0
    var nextAt = 0.0
    var heardAt = Clock.now

    init(_ request: HTTPRequest) { self.request = request }
  }

  private let site: Site
  private var viewers: [Viewer] = []

  /// Browsers that are served at a time.
  static let most = 24
  /// Seconds between two looks at a page.
  static let interval = 2.0
  /// Seconds after which a browser hears a sign of life, so that one that is gone is noticed.
  private static let silence = 15.0

  init(_ site: Site) { self.site = site }

  /// Begins to serve a browser.
  func add(_ request: HTTPRequest) -> HTTPResponse {
    viewers.removeAll(where: \.stream.isClosed)
    guard viewers.count < Self.most else {
      let text = "\(Self.most) pages are live already; this one is not.\n"
      return HTTPResponse(503, "text/plain; charset=utf-8", Array(text.utf8))
    }
    let viewer = Viewer(HTTPRequest(method: "GET", target: request.query["page"] ?? "/"))
    viewers.append(viewer)
    viewer.stream.sendSignOfLife()
    return HTTPResponse(events: viewer.stream)
  }

  /// Looks at the pages whose time has come. Called a few times a second.
  func look() {
    viewers.removeAll(where: \.stream.isClosed)
    for viewer in viewers where viewer.nextAt <= Clock.now {
      let start = Clock.now
      let text = site.frame(site.page(viewer.request)).document
      let hash = text.hashValue
      if hash != viewer.shown {
        viewer.stream.send(event: "page", data: text)
        viewer.shown = hash
        viewer.heardAt = Clock.now
      } else if Clock.now - viewer.heardAt > Self.silence {
        viewer.stream.sendSignOfLife()
        viewer.heardAt = Clock.now
      }
      // A page that takes long is made less often: all live pages together leave the queue free most of the time.
      viewer.nextAt = Clock.now + max(Self.interval, (Clock.now - start) * 10)
    }
  }
}
