import Foundation
import Synchronization
import Testing

@testable import WorkerPoolWeb

/// A clock that a test sets.
final class TestClock: Sendable {
  private let seconds = Mutex(1000.0)
  var now: @Sendable () -> Double { { self.seconds.withLock { $0 } } }
  func advance(_ by: Double) { seconds.withLock { $0 += by } }
}

/// Who may pass, request by request, without a socket.
@Suite struct AccessTests {
  private let clock = TestClock()
  private let operate = AccessToken(secret: String(repeating: "o", count: 40), role: .operate, name: "Anna")
  private let look = AccessToken(secret: String(repeating: "l", count: 40), role: .look, name: nil)
  private let ownOrigin = "http://127.0.0.1:8088"

  private func access(isReadOnly: Bool = false) -> Access {
    Access(
      AccessTokens([operate, look]), Sessions(lifetime: 3600, now: clock.now), port: 8088, names: [],
      isReadOnly: isReadOnly, tries: { TryLimit(now: clock.now) })
  }

  private func request(
    _ method: String = "GET", _ path: String = "/", host: String? = "127.0.0.1:8088", headers: [String: String] = [:],
    token: String? = nil, form: String? = nil
  ) -> HTTPRequest {
    var request = HTTPRequest(method: method, path: path)
    request.headers = headers
    request.headers["host"] = host
    if let token { request.query.add("token", token) }
    if let form {
      request.headers["content-type"] = "application/x-www-form-urlencoded"
      request.body = Array(form.utf8)
    }
    return request
  }

  /// What a browser that has shown a token sends from now on.
  private func cookie(_ access: Access, _ token: AccessToken? = nil) throws -> String {
    let answer = try #require(access.answer(request(token: (token ?? operate).secret)))
    #expect(answer.status == 303)
    let cookie = try #require(answer.header("Set-Cookie"))
    #expect(cookie.hasSuffix("; Path=/; HttpOnly; SameSite=Strict"))
    #expect(answer.header("Location") == "/")
    return String(cookie.prefix { $0 != ";" })
  }

  /// The visitor whom a request with that cookie passes for.
  private func visitor(_ access: Access, _ cookie: String) throws -> Visitor {
    try #require(access.visitor(request(headers: ["cookie": cookie])))
  }

  @Test func onlyATokenOpensThePages() throws {
    let access = access()
    #expect(access.status(request()) == 401)
    #expect(access.status(request(token: operate.secret + "0")) == 401)
    #expect(access.status(request(headers: ["cookie": "workerpool-8088=wrong"])) == 401)
    let cookie = try cookie(access)
    #expect(access.status(request(headers: ["cookie": "other=1; \(cookie)"])) == nil)
    let other = cookie.replacingOccurrences(of: "8088", with: "80")
    #expect(access.status(request(headers: ["cookie": other])) == 401)
  }

  @Test func otherNamesOfTheServerAreRefused() throws {
    let access = access()
    let cookie = try cookie(access)
    for host in ["evil.example:8088", "127.0.0.1", "127.0.0.1:80", "localhost.evil.example", nil] {
      #expect(access.status(request(host: host, headers: ["cookie": cookie])) == 403, "\(host ?? "none")")
    }
    #expect(access.status(request(host: "LOCALHOST:8088", headers: ["cookie": cookie])) == nil)
  }

  /// A proxy may have looked at the other one of two headers.
  @Test func headersThatComeTwiceAreRefused() throws {
    let access = access()
    let cookie = try cookie(access)
    func status(_ headers: [(String, String)]) -> UInt32? {
      var request = HTTPRequest(method: "GET", path: "/")
      for (name, value) in headers { request.take(header: name, value) }
      return access.status(request)
    }
    let headers = [("Host", "127.0.0.1:8088"), ("Cookie", cookie), ("Origin", "http://127.0.0.1:8088")]
    #expect(status(headers) == nil)
    #expect(status(headers + [("Accept", "text/html"), ("Accept", "*/*")]) == nil)
    for (name, value) in headers { #expect(status(headers + [(name.uppercased(), value)]) == 400, "\(name)") }
    #expect(status([("Host", "evil.example")] + headers) == 400)
    #expect(status(headers + [("Content-Length", "0"), ("Transfer-Encoding", "chunked")]) == 400)
    #expect(status(headers + [("Content-Length", "0"), ("Content-Length", "5")]) == 400)
    #expect(status(headers + [("Authorization", "Bearer a"), ("Authorization", "Bearer b")]) == 400)
  }

  @Test func changesNeedThisOriginAndTheFormsKey() throws {
    let access = access()
    let cookie = try cookie(access)
    let form = "key=\(try visitor(access, cookie).formKey)"
    func status(_ headers: [String: String], _ form: String?) -> UInt32? {
      access.status(request("POST", "/pause", headers: headers.merging(["cookie": cookie]) { $1 }, form: form))
    }
    #expect(status(["origin": ownOrigin], form) == nil)
    #expect(status(["origin": ownOrigin, "sec-fetch-site": "same-origin"], form) == nil)
    #expect(status([:], form) == 403)
    #expect(status(["origin": "null"], form) == 403)
    #expect(status(["origin": "http://evil.example"], form) == 403)
    #expect(status(["origin": "http://127.0.0.1:9000"], form) == 403)
    #expect(status(["origin": ownOrigin, "sec-fetch-site": "same-site"], form) == 403)
    #expect(status(["origin": ownOrigin], nil) == 403)
    #expect(status(["origin": ownOrigin], "key=\(String(repeating: "0", count: 64))") == 403)
    let another = try visitor(access, self.cookie(access)).formKey
    #expect(status(["origin": ownOrigin], "key=\(another)") == 403, "a form of another session")
    #expect(
      access.status(request("POST", "/pause", headers: ["origin": ownOrigin], form: form)) == 401, "without cookie")
  }

  @Test func pagesOfOtherOriginsMayOnlyLeadHere() throws {
    let access = access()
    let cookie = try cookie(access)
    func status(_ mode: String) -> UInt32? {
      access.status(
        request(headers: ["cookie": cookie, "sec-fetch-site": "cross-site", "sec-fetch-mode": mode]))
    }
    #expect(status("navigate") == nil)
    #expect(status("no-cors") == 403)
    #expect(status("cors") == 403)
  }

  // MARK: Programs

  /// Probes of proxies come under any name and have no token. They learn whether a pool answers, and no more.
  @Test func probesNeedNoToken() {
    let access = access()
    for (path, probe) in [("/healthz", Probe.alive), ("/readyz", .ready)] {
      for host in ["10.0.0.7:8088", nil] {
        #expect(access.probe(request("GET", path, host: host)) == probe, "\(path) for \(host ?? "no host")")
        #expect(access.probe(request("HEAD", path, host: host)) == probe)
      }
      #expect(access.status(request("POST", path)) == 405)
    }
    #expect(access.status(request("GET", "/healthz/")) == 401, "only these paths")
    #expect(access.status(request("GET", "/metrics")) == 401)
  }

  @Test func metricsNeedATokenOrTheCookie() throws {
    let access = access()
    let cookie = try cookie(access, look)
    func status(_ headers: [String: String], host: String = "127.0.0.1:8088") -> UInt32? {
      access.status(request("GET", "/metrics", host: host, headers: headers))
    }
    #expect(status(["authorization": "Bearer \(operate.secret)"]) == nil)
    #expect(status(["authorization": "bearer  \(look.secret)"], host: "10.0.0.7:8088") == nil, "a token suffices")
    #expect(status(["cookie": cookie]) == nil)
    #expect(access.probe(request("GET", "/metrics", headers: ["cookie": cookie])) == .metrics)
    #expect(status(["cookie": cookie], host: "evil.example") == 403)
    #expect(status(["cookie": cookie, "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"]) == 403)
    #expect(status([:]) == 401)
    for header in ["Bearer", "Bearer x", "Basic \(look.secret)", look.secret, "Bearer \(look.secret) more"] {
      #expect(status(["authorization": header, "cookie": cookie]) == 401, "\(header)")
    }
    #expect(access.status(request("GET", "/jobs", headers: ["authorization": "Bearer \(look.secret)"])) == 401)
  }

  // MARK: Roles

  @Test func aTokenToLookChangesNothing() throws {
    let access = access()
    let cookie = try cookie(access, look)
    let visitor = try visitor(access, cookie)
    #expect(visitor.isReadOnly && visitor.name == nil)
    let change = request(
      "POST", "/pause", headers: ["cookie": cookie, "origin": ownOrigin], form: "key=\(visitor.formKey)")
    #expect(access.status(change) == 403)
    #expect(access.answer(change)?.text.contains("your token has the role look") == true)
    let other = try self.visitor(access, self.cookie(access))
    #expect(!other.isReadOnly && other.name == "Anna")
  }

  @Test func readOnlyPagesChangeNothingWhateverTheToken() throws {
    let access = access(isReadOnly: true)
    let cookie = try cookie(access)
    let visitor = try visitor(access, cookie)
    #expect(visitor.isReadOnly)
    let change = request(
      "POST", "/pause", headers: ["cookie": cookie, "origin": ownOrigin], form: "key=\(visitor.formKey)")
    #expect(access.status(change) == 403)
    #expect(access.answer(change)?.text.contains("--read-only") == true)
  }

  // MARK: Logging in and out

  @Test func theFormLogsInAndLeadsToThePageThatWasAskedFor() throws {
    let access = access()
    var asked = request("GET", "/jobs")
    asked.query.add("state", "dead")
    let page = try #require(access.answer(asked))
    #expect(page.status == 401 && page.header("WWW-Authenticate")?.hasPrefix("Bearer") == true)
    #expect(page.text.contains("action=\"/login\"") && page.text.contains("value=\"/jobs?state=dead\""))
    #expect(!page.text.contains(operate.secret))
    func logIn(_ form: String, _ origin: String? = "http://127.0.0.1:8088") -> HTTPResponse? {
      access.answer(request("POST", "/login", headers: origin.map { ["origin": $0] } ?? [:], form: form))
    }
    let token = "token=\(operate.secret)"
    let answer = try #require(logIn(token + "&page=%2Fjobs%3Fstate%3Ddead"))
    #expect(answer.status == 303 && answer.header("Location") == "/jobs?state=dead")
    #expect(answer.header("Set-Cookie")?.hasPrefix("workerpool-8088=") == true)
    #expect(logIn(token)?.header("Location") == "/")
    #expect(logIn(token + "&page=%2F%2Fevil.example%2Fa")?.header("Location") == "/evil.example/a", "stays here")
    #expect(logIn(token + "&page=https%3A%2F%2Fevil.example")?.header("Location")?.hasPrefix("/") == true)
    #expect(logIn("token=wrong&page=%2Fjobs")?.status == 401)
    #expect(logIn("token=wrong&page=%2Fjobs")?.text.contains("value=\"/jobs\"") == true)
    #expect(logIn("")?.status == 401)
    #expect(logIn(token, "http://evil.example")?.status == 403)
    #expect(logIn(token, nil)?.status == 403)
    #expect(access.status(request("GET", "/login")) == 200)
    let cookie = try cookie(access)
    #expect(access.status(request("GET", "/login", headers: ["cookie": cookie])) == 303)
  }

  @Test func loggingOutForgetsTheSession() throws {
    let access = access()
    for token in [operate, look] {
      let (cookie, other) = (try cookie(access, token), try cookie(access, token))
      let key = try visitor(access, cookie).formKey
      func logOut(_ form: String?) -> HTTPResponse? {
        access.answer(request("POST", "/logout", headers: ["cookie": cookie, "origin": ownOrigin], form: form))
      }
      #expect(logOut(nil)?.status == 403, "another page cannot log anybody out")
      #expect(access.status(request("GET", "/logout", headers: ["cookie": cookie])) == nil, "and no link")
      #expect(access.visitor(request(headers: ["cookie": cookie])) != nil)
      let answer = try #require(logOut("key=\(key)"))
      #expect(answer.status == 303 && answer.header("Location") == "/login")
      #expect(answer.header("Set-Cookie")?.contains("workerpool-8088=; Path=/; Max-Age=0") == true)
      #expect(access.status(request(headers: ["cookie": cookie])) == 401, "the cookie opens nothing any more")
      #expect(access.status(request(headers: ["cookie": other])) == nil, "other browsers stay")
    }
  }

  @Test func aSessionEndsSomeTimeAfterItsLastUse() throws {
    let access = access()
    let cookie = try cookie(access)
    for _ in 0..<3 {
      clock.advance(3599)
      #expect(access.status(request(headers: ["cookie": cookie])) == nil)
    }
    clock.advance(3600)
    let answer = try #require(access.answer(request(headers: ["cookie": cookie])))
    #expect(answer.status == 401 && answer.text.contains("You are logged out"))
    #expect(access.answer(request())?.text.contains("You are logged out") == false, "who was never logged in")
  }

  @Test func loggingInAgainEndsTheSessionBefore() throws {
    let access = access()
    let first = try cookie(access)
    let answer = try #require(access.answer(request(headers: ["cookie": first], token: look.secret)))
    #expect(answer.status == 303)
    #expect(access.status(request(headers: ["cookie": first])) == 401)
  }

  /// A thousand browsers are logged in at a time. The one that was used least recently makes room.
  @Test func sessionsAreBounded() {
    let sessions = Sessions(lifetime: 3600, now: clock.now)
    var visitors: [Visitor] = []
    for _ in 0..<Sessions.most {
      visitors.append(sessions.begin(with: operate))
      clock.advance(1)
    }
    #expect(sessions.use(visitors[0].session) != nil)
    _ = sessions.begin(with: operate)
    #expect(sessions.use(visitors[0].session) != nil)
    #expect(sessions.use(visitors[1].session) == nil)
    #expect(sessions.use(visitors[2].session) != nil)
    #expect(Set(visitors.map(\.session)).count == Sessions.most && Set(visitors.map(\.formKey)).count == Sessions.most)
  }

  /// Right tokens are refused, too, while too many wrong ones were shown: else guessing would know no bound.
  @Test func wrongTokensAreBounded() throws {
    let access = access()
    let cookie = try cookie(access)
    let wrong = request("POST", "/login", headers: ["origin": ownOrigin], form: "token=wrong")
    for _ in 0..<Int(TryLimit.burst) { #expect(access.status(wrong) == 401) }
    let right = request(token: operate.secret)
    for late in [wrong, right] {
      let answer = try #require(access.answer(late))
      #expect(answer.status == 429 && answer.header("Retry-After") == "1")
    }
    #expect(access.status(request(headers: ["cookie": cookie])) == nil, "who is logged in stays")
    func metrics(_ token: String) -> UInt32? {
      access.status(request("GET", "/metrics", headers: ["authorization": "Bearer \(token)"]))
    }
    #expect(metrics(look.secret) == nil, "people's mistakes keep no program out")
    clock.advance(1)
    #expect(access.status(right) == 303)
    #expect(access.status(wrong) == 401)
    #expect(access.status(right) == 429, "one a second")
    clock.advance(1000)
    for _ in 0..<Int(TryLimit.burst) { #expect(metrics("wrong") == 401) }
    #expect(metrics(look.secret) == 429)
    #expect(access.status(right) == 303, "nor programs' mistakes people")
  }
}

extension Access {
  /// The answer to a request that does not pass.
  fileprivate func answer(_ request: HTTPRequest) -> HTTPResponse? {
    if case .answer(let response) = decide(on: request) { response } else { nil }
  }

  fileprivate func status(_ request: HTTPRequest) -> UInt32? { answer(request)?.status }

  fileprivate func probe(_ request: HTTPRequest) -> Probe? {
    if case .probe(let probe) = decide(on: request) { probe } else { nil }
  }

  fileprivate func visitor(_ request: HTTPRequest) -> Visitor? {
    if case .pass(let visitor) = decide(on: request) { visitor } else { nil }
  }
}

extension HTTPResponse {
  fileprivate func header(_ name: String) -> String? { headers.first { $0.0 == name }?.1 }

  fileprivate var text: String {
    if case .bytes(let bytes) = body { String(decoding: bytes, as: UTF8.self) } else { "" }
  }
}
