import Foundation

/// Decides which requests may see the pages and change something. They need the token of the printed URL, and changes
/// must come from a page of this server.
struct Access: Sendable {
  /// In the printed URL.
  let token = Self.secret()
  /// In the cookie: a browser that has it has shown the token.
  private let session = Self.secret()
  /// In each form: a page that has it was made by this server.
  let formKey = Self.secret()
  /// Values of the header Host that mean this server. Another one comes from a page whose name was made to lead here.
  let hosts: Set<String>
  /// Cookies of a host are shared by all its ports, so that the name has the port.
  let cookieName: String
  let isReadOnly: Bool

  /// - Parameters:
  ///   - port: the port on 127.0.0.1; nil for a Unix socket.
  ///   - names: further host names under which a proxy leads here.
  init(port: UInt16?, names: [String], isReadOnly: Bool) {
    let own = ["127.0.0.1", "localhost"].map { name in port.map { "\(name):\($0)" } ?? name }
    hosts = Set(own + names)
    cookieName = "workerpool-" + (port.map(String.init) ?? "socket")
    self.isReadOnly = isReadOnly
  }

  /// 256 bits from the system.
  private static func secret() -> String {
    var generator = SystemRandomNumberGenerator()
    return (0..<4).map { _ in
      let digits = String(generator.next() as UInt64, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }

  /// What becomes of a request.
  enum Decision {
    case answer(HTTPResponse)
    case probe(Probe)
    /// It may see the pages, and change what it asks for.
    case pass
  }

  func decide(on request: HTTPRequest) -> Decision {
    if let ambiguity = request.ambiguity { return .answer(refusal(400, "This is not answered: \(ambiguity).")) }
    if let probe = Probe(rawValue: request.path) { return decide(on: probe, request) }
    return answer(to: request).map(Decision.answer) ?? .pass
  }

  /// Everybody may know whether the pool is there, under any name of this server; metrics need a token or the cookie.
  private func decide(on probe: Probe, _ request: HTTPRequest) -> Decision {
    guard ["GET", "HEAD"].contains(request.method) else {
      return .answer(Probes.plain(405, "GET and HEAD are answered here"))
    }
    guard probe == .metrics else { return .probe(probe) }
    // A browser sends the cookie by itself, whoever leads it here. It never sends a token, which no other page knows.
    guard let header = request.headers["authorization"] else {
      return answer(to: request).map(Decision.answer) ?? .probe(probe)
    }
    let words = header.split(separator: " ")
    guard words.count == 2, words[0].lowercased() == "bearer", isSame(String(words[1]), token) else {
      return .answer(Probes.plain(401, "the header Authorization has no token of this server"))
    }
    return .probe(probe)
  }

  /// The answer to a request that may not pass; nil for one that may.
  private func answer(to request: HTTPRequest) -> HTTPResponse? {
    guard let host = request.headers["host"]?.lowercased(), hosts.contains(host) else {
      return refusal(403, "This server is not reached by that name.")
    }
    // A page of another origin may lead here by a link, and nothing else (W3C, Fetch Metadata).
    let site = request.headers["sec-fetch-site"] ?? "same-origin"
    let isNavigation = request.method == "GET" && request.headers["sec-fetch-mode"] == "navigate"
    guard site == "same-origin" || site == "none" || isNavigation else {
      return refusal(403, "A page of another origin may not ask for this.")
    }
    if let asset = Assets.answer(to: request) { return asset }
    if request.method == "GET", let shown = request.query["token"] {
      return isSame(shown, token) ? welcome(request) : refusal(401, "That is not the token of this server.")
    }
    guard let cookie = cookie(request), isSame(cookie, session) else {
      return refusal(401, "Open the URL that workerpool web has printed; its token opens these pages.")
    }
    switch request.method {
    case "GET", "HEAD": return nil
    case "POST": return answer(toChange: request, host: host)
    default: return refusal(405, "These pages know GET and POST only.")
    }
  }

  static let readOnlyText = "These pages are read-only: workerpool web was started with --read-only."

  private func answer(toChange request: HTTPRequest, host: String) -> HTTPResponse? {
    if isReadOnly { return refusal(403, Self.readOnlyText) }
    guard let origin = request.headers["origin"]?.lowercased(), ["http://\(host)", "https://\(host)"].contains(origin)
    else { return refusal(403, "A page of another origin may not change anything.") }
    guard let key = request.form["key"], isSame(key, formKey) else {
      return refusal(403, "The form is not of this server, or older than it. Load the page again.")
    }
    return nil
  }

  /// Hands over the cookie and takes the token out of the address.
  private func welcome(_ request: HTTPRequest) -> HTTPResponse {
    var response = HTTPResponse(
      seeOther: Address(path: request.parts, query: request.query.pairs.filter { $0.name != "token" }.map { ($0, $1) }))
    response.headers.append(("Set-Cookie", "\(cookieName)=\(session); Path=/; HttpOnly; SameSite=Strict"))
    return response
  }

  private func cookie(_ request: HTTPRequest) -> String? {
    for part in (request.headers["cookie"] ?? "").split(separator: ";") {
      let halves = part.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
      if halves.count == 2, halves[0] == cookieName { return halves[1] }
    }
    return nil
  }

  /// Compares in a time that does not tell how much is right.
  private func isSame(_ one: String, _ other: String) -> Bool {
    let (one, other) = (Array(one.utf8), Array(other.utf8))
    guard one.count == other.count else { return false }
    return zip(one, other).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }

  private func refusal(_ status: UInt32, _ text: String) -> HTTPResponse {
    HTTPResponse(status, Layout.plain(title: "workerpool", text: text))
  }
}

/// The files that pages refer to. They hold no secret.
enum Assets {
  static let style = Address("assets", "style.css")
  static let script = Address("assets", "script.js")

  static func answer(to request: HTTPRequest) -> HTTPResponse? {
    guard request.method == "GET" else { return nil }
    switch request.path {
    case style.text: return HTTPResponse(200, "text/css; charset=utf-8", PackageResources.style_css)
    case script.text: return HTTPResponse(200, "text/javascript; charset=utf-8", PackageResources.script_js)
    case "/favicon.ico": return HTTPResponse(200, "image/svg+xml", PackageResources.icon_svg)
    default: return nil
    }
  }
}
