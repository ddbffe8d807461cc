import Foundation

/// Decides which requests may see the pages and change something. They need a token or the cookie that a token was
/// exchanged for, and changes must come from a page that this server has made for the same person.
struct Access: Sendable {
  let tokens: AccessTokens
  let sessions: Sessions
  /// Values of the header Host that mean this server. Another one comes from a page whose name was made to lead here.
  let hosts: Set<String>
  /// Cookies of a host are shared by all its ports, so that the name has the port.
  let cookieName: String
  /// Whether the pages are read-only for every token.
  let isReadOnly: Bool
  /// Programs with a wrong token keep no person out, and the other way round.
  private let personTries: TryLimit
  private let programTries: TryLimit

  /// - Parameters:
  ///   - address: where the port is, as it stands in a URL.
  ///   - port: the port; nil for a Unix socket.
  ///   - names: further host names under which a proxy leads here.
  init(
    _ tokens: AccessTokens, _ sessions: Sessions, address: String = "127.0.0.1", port: UInt16?, names: [String],
    isReadOnly: Bool,
    tries: () -> TryLimit = { TryLimit() }
  ) {
    self.tokens = tokens
    self.sessions = sessions
    let ownNames = ["127.0.0.1", "localhost", address]
    // Browsers leave out the port that a URL without one has.
    let withoutPort = port == nil || port == 80 ? ownNames : []
    hosts = Set(withoutPort + ownNames.compactMap { name in port.map { "\(name):\($0)" } } + names)
    cookieName = "workerpool-" + (port.map(String.init) ?? "socket")
    self.isReadOnly = isReadOnly
    personTries = tries()
    programTries = tries()
  }

  /// What becomes of a request.
  enum Decision {
    case answer(HTTPResponse)
    case probe(Probe)
    /// A person who has logged in asks for something that they may see, or change.
    case pass(Visitor)
  }

  /// Where the forms that log in and out lead.
  static let logIn = Address("login")
  static let logOut = Address("logout")

  func decide(on request: HTTPRequest) -> Decision {
    if let ambiguity = request.ambiguity { return refusal(400, "This is not answered: \(ambiguity).") }
    let probe = Probe(rawValue: request.path)
    if let probe, let decision = decide(on: probe, request) { return decision }
    guard let host = request.headers["host"]?.lowercased(), hosts.contains(host) else {
      return refusal(403, "This server is not reached by that name.")
    }
    // A page of another origin may lead here by a link, and nothing else (W3C, Fetch Metadata).
    let site = request.headers["sec-fetch-site"] ?? "same-origin"
    let isNavigation = request.method == "GET" && request.headers["sec-fetch-mode"] == "navigate"
    guard site == "same-origin" || site == "none" || isNavigation else {
      return refusal(403, "A page of another origin may not ask for this.")
    }
    if let asset = Assets.answer(to: request) { return .answer(asset) }
    if request.method == "GET", let shown = request.query["token"] {
      // The address loses the token.
      let query = request.query.pairs.filter { $0.name != "token" }.map { ($0, $1) }
      return logIn(request, shown: shown, then: Address(path: request.parts, query: query))
    }
    if request.method == "POST", let refusal = refusalOfOrigin(request, host: host) { return refusal }
    if request.path == Self.logIn.text { return decideOnLogIn(request) }
    let cookie = cookie(request)
    guard let visitor = cookie.flatMap(sessions.use) else {
      let state = cookie == nil ? "" : "You are logged out: your session was not used for too long, or has ended. "
      return .answer(logInPage(401, state + howToLogIn, request))
    }
    if let probe { return .probe(probe) }
    switch request.method {
    case "GET", "HEAD": return .pass(visitor)
    case "POST": return decide(onChange: request, visitor)
    default: return refusal(405, "These pages know GET and POST only.")
    }
  }

  // MARK: Programs

  /// Everybody may know whether the pool is there, under any name of this server; metrics need a token, or what a page
  /// needs: then there is no decision here.
  private func decide(on probe: Probe, _ request: HTTPRequest) -> Decision? {
    guard ["GET", "HEAD"].contains(request.method) else {
      return .answer(Probes.plain(405, "GET and HEAD are answered here"))
    }
    guard probe == .metrics else { return .probe(probe) }
    // A browser sends the cookie by itself, also from a link of another site. It never sends a token, which no other
    // page knows.
    guard let header = request.headers["authorization"] else { return nil }
    if let seconds = programTries.wait {
      return .answer(late(seconds, Probes.plain(429, "too many wrong tokens; try again in \(seconds) s")))
    }
    let words = header.split(separator: " ")
    guard words.count == 2, words[0].lowercased() == "bearer", tokens.token(String(words[1])) != nil else {
      programTries.noteWrong()
      return .answer(
        unauthorized(Probes.plain(401, "the header Authorization has no token of this server: Bearer TOKEN")))
    }
    return .probe(probe)
  }

  // MARK: Logging in and out

  private var howToLogIn: String {
    tokens.printed == nil
      ? "Show your token to see these pages."
      : "Open the URL that workerpool web has printed, or show its token here."
  }

  private func decideOnLogIn(_ request: HTTPRequest) -> Decision {
    switch request.method {
    case "GET", "HEAD":
      if cookie(request).flatMap(sessions.use) != nil { return .answer(HTTPResponse(seeOther: Address())) }
      return .answer(logInPage(200, howToLogIn, request))
    case "POST":
      let page = HTTPRequest(method: "GET", target: request.form["page"] ?? "/")
      let query = page.query.pairs.map { ($0.name, Optional($0.value)) }
      return logIn(request, shown: request.form["token"] ?? "", then: Address(path: page.parts, query: query))
    default: return refusal(405, "These pages know GET and POST only.")
    }
  }

  /// Hands over a cookie for a token.
  private func logIn(_ request: HTTPRequest, shown: String, then address: Address) -> Decision {
    if let seconds = personTries.wait {
      let text = "Too many wrong tokens were shown. Try again in \(seconds) s."
      return .answer(late(seconds, logInPage(429, text, request)))
    }
    guard var token = tokens.token(shown) else {
      personTries.noteWrong()
      return .answer(logInPage(401, "That is not a token of this server.", request))
    }
    if isReadOnly { token.role = .look }
    // The browser forgets the cookie that it had.
    if let cookie = cookie(request) { sessions.end(cookie) }
    var response = HTTPResponse(seeOther: address)
    setCookie("\(sessions.begin(with: token).session); Path=/", in: &response)
    return .answer(response)
  }

  private func logOut(_ visitor: Visitor) -> Decision {
    sessions.end(visitor.session)
    var response = HTTPResponse(seeOther: Self.logIn)
    setCookie("; Path=/; Max-Age=0", in: &response)
    return .answer(response)
  }

  private func setCookie(_ value: String, in response: inout HTTPResponse) {
    response.headers.append(("Set-Cookie", "\(cookieName)=\(value); HttpOnly; SameSite=Strict"))
  }

  private func cookie(_ request: HTTPRequest) -> String? {
    for part in (request.headers["cookie"] ?? "").split(separator: ";") {
      let halves = part.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
      if halves.count == 2, halves[0] == cookieName { return halves[1] }
    }
    return nil
  }

  // MARK: Changes

  /// Why a person may change nothing.
  var readOnlyText: String {
    isReadOnly
      ? "These pages are read-only: workerpool web was started with --read-only."
      : "These pages are read-only for you: your token has the role look."
  }

  private func refusalOfOrigin(_ request: HTTPRequest, host: String) -> Decision? {
    let origin = request.headers["origin"]?.lowercased()
    if origin == "http://\(host)" || origin == "https://\(host)" { return nil }
    return refusal(403, "A page of another origin may not change anything.")
  }

  private func decide(onChange request: HTTPRequest, _ visitor: Visitor) -> Decision {
    guard let key = request.form["key"], Secret.isSame(key, visitor.formKey) else {
      return refusal(403, "The form is not of this server, or older than your session. Load the page again.")
    }
    if request.path == Self.logOut.text { return logOut(visitor) }
    if visitor.isReadOnly { return refusal(403, readOnlyText) }
    return .pass(visitor)
  }

  // MARK: Answers

  private func refusal(_ status: UInt32, _ text: String) -> Decision {
    .answer(HTTPResponse(status, Layout.plain(title: "workerpool", text: text)))
  }

  /// A page with a form for the token, which leads on to the page that was asked for.
  private func logInPage(_ status: UInt32, _ text: String, _ request: HTTPRequest) -> HTTPResponse {
    let query = request.query.pairs.filter { $0.name != "token" }.map { ($0.name, Optional($0.value)) }
    let asked = request.path == Self.logIn.text ? nil : Address(path: request.parts, query: query)
    let page = request.method == "GET" ? asked?.text : request.form["page"]
    let response = HTTPResponse(
      status, Layout.plain(title: "workerpool", text: text, content: LogInForm.html(page: page)))
    return status == 401 ? unauthorized(response) : response
  }

  private func late(_ seconds: Int, _ response: HTTPResponse) -> HTTPResponse {
    var response = response
    response.headers.append(("Retry-After", String(seconds)))
    return response
  }

  /// Source: RFC 9110, section 15.5.2: the answer names a scheme.
  private func unauthorized(_ response: HTTPResponse) -> HTTPResponse {
    var response = response
    response.headers.append(("WWW-Authenticate", "Bearer realm=\"workerpool\""))
    return response
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
