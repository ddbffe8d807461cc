import Foundation
import Testing

@testable import WorkerPoolWeb

/// Who may pass, request by request, without a socket.
@Suite struct AccessTests {
  private let access = Access(port: 8088, names: [], isReadOnly: false)

  /// The answer to a request that may not pass; nil for one that may.
  private func answer(_ request: HTTPRequest, of access: Access? = nil) -> HTTPResponse? {
    if case .answer(let response) = (access ?? self.access).decide(on: request) { response } else { nil }
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

  /// What a browser that has shown the token sends from now on.
  private func cookie() throws -> String {
    let answer = try #require(self.answer(request(token: access.token)))
    #expect(answer.status == 303)
    let cookie = try #require(answer.headers.first { $0.0 == "Set-Cookie" }?.1)
    #expect(cookie.hasSuffix("; Path=/; HttpOnly; SameSite=Strict"))
    #expect(answer.headers.contains { $0.0 == "Location" && $0.1 == "/" })
    return String(cookie.prefix { $0 != ";" })
  }

  @Test func onlyTheTokenOpensThePages() throws {
    #expect(answer(request())?.status == 401)
    #expect(answer(request(token: access.token + "0"))?.status == 401)
    #expect(answer(request(headers: ["cookie": "workerpool-8088=wrong"]))?.status == 401)
    let cookie = try cookie()
    #expect(answer(request(headers: ["cookie": "other=1; \(cookie)"])) == nil)
    #expect(answer(request(headers: ["cookie": cookie.replacingOccurrences(of: "8088", with: "80")])) != nil)
  }

  @Test func otherNamesOfTheServerAreRefused() throws {
    let cookie = try cookie()
    for host in ["evil.example:8088", "127.0.0.1", "127.0.0.1:80", "localhost.evil.example", nil] {
      #expect(answer(request(host: host, headers: ["cookie": cookie]))?.status == 403, "\(host ?? "none")")
    }
    #expect(answer(request(host: "LOCALHOST:8088", headers: ["cookie": cookie])) == nil)
  }

  /// A proxy may have looked at the other one of two headers.
  @Test func headersThatComeTwiceAreRefused() throws {
    let cookie = try cookie()
    func status(_ headers: [(String, String)]) -> UInt32? {
      var request = HTTPRequest(method: "GET", path: "/")
      for (name, value) in headers { request.take(header: name, value) }
      return answer(request)?.status
    }
    let own = [("Host", "127.0.0.1:8088"), ("Cookie", cookie), ("Origin", "http://127.0.0.1:8088")]
    #expect(status(own) == nil)
    #expect(status(own + [("Accept", "text/html"), ("Accept", "*/*")]) == nil)
    for (name, value) in own { #expect(status(own + [(name.uppercased(), value)]) == 400, "\(name)") }
    #expect(status([("Host", "evil.example")] + own) == 400)
    #expect(status(own + [("Content-Length", "0"), ("Transfer-Encoding", "chunked")]) == 400)
    #expect(status(own + [("Content-Length", "0"), ("Content-Length", "5")]) == 400)
  }

  @Test func changesNeedThisOriginAndTheFormsKey() throws {
    let cookie = try cookie()
    let own = "http://127.0.0.1:8088"
    let form = "key=\(access.formKey)"
    func status(_ headers: [String: String], _ form: String?) -> UInt32? {
      answer(request("POST", "/pause", headers: headers.merging(["cookie": cookie]) { $1 }, form: form))?
        .status
    }
    #expect(status(["origin": own], form) == nil)
    #expect(status(["origin": own, "sec-fetch-site": "same-origin"], form) == nil)
    #expect(status([:], form) == 403)
    #expect(status(["origin": "null"], form) == 403)
    #expect(status(["origin": "http://evil.example"], form) == 403)
    #expect(status(["origin": "http://127.0.0.1:9000"], form) == 403)
    #expect(status(["origin": own, "sec-fetch-site": "same-site"], form) == 403)
    #expect(status(["origin": own], nil) == 403)
    #expect(status(["origin": own], "key=\(String(repeating: "0", count: 64))") == 403)
    #expect(
      answer(request("POST", "/pause", headers: ["origin": own], form: form))?.status == 401,
      "without cookie")
  }

  @Test func pagesOfOtherOriginsMayOnlyLeadHere() throws {
    let cookie = try cookie()
    func status(_ mode: String) -> UInt32? {
      access.answer(
        request(headers: ["cookie": cookie, "sec-fetch-site": "cross-site", "sec-fetch-mode": mode]))?.status
    }
    #expect(status("navigate") == nil)
    #expect(status("no-cors") == 403)
    #expect(status("cors") == 403)
  }

  /// Probes of proxies come under any name and have no token. They learn whether a pool answers, and no more.
  @Test func probesNeedNoToken() {
    func decision(_ method: String, _ path: String, host: String? = "10.0.0.7:8088") -> Access.Decision {
      access.decide(on: request(method, path, host: host))
    }
    for (path, probe) in [("/healthz", Probe.alive), ("/readyz", .ready)] {
      for host in ["10.0.0.7:8088", nil] {
        guard case .probe(probe) = decision("GET", path, host: host) else {
          Issue.record("\(path) for \(host ?? "no host")")
          continue
        }
      }
      #expect(answer(request("POST", path))?.status == 405)
    }
    #expect(answer(request("GET", "/healthz/"))?.status == 401, "only these paths")
    #expect(answer(request("GET", "/metrics"))?.status == 401)
  }

  @Test func metricsNeedTheTokenOrTheCookie() throws {
    let cookie = try cookie()
    func status(_ headers: [String: String], host: String = "127.0.0.1:8088") -> UInt32? {
      answer(request("GET", "/metrics", host: host, headers: headers))?.status
    }
    #expect(status(["authorization": "Bearer \(access.token)"]) == nil)
    #expect(status(["authorization": "bearer  \(access.token)"], host: "10.0.0.7:8088") == nil, "a token suffices")
    #expect(status(["cookie": cookie]) == nil)
    #expect(status(["cookie": cookie], host: "evil.example") == 403)
    #expect(status(["cookie": cookie, "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"]) == 403)
    #expect(status([:]) == 401)
    for header in ["Bearer", "Bearer x", "Basic \(access.token)", access.token, "Bearer \(access.token) more"] {
      #expect(status(["authorization": header, "cookie": cookie]) == 401, "\(header)")
    }
    #expect(answer(request("GET", "/jobs", headers: ["authorization": "Bearer \(access.token)"]))?.status == 401)
  }

  @Test func readOnlyPagesChangeNothing() throws {
    let access = Access(port: nil, names: [], isReadOnly: true)
    var request = HTTPRequest(method: "GET", path: "/")
    request.headers["host"] = "localhost"
    request.query.add("token", access.token)
    let answer = try #require(self.answer(request, of: access))
    let cookie = try #require(answer.headers.first { $0.0 == "Set-Cookie" }?.1.prefix { $0 != ";" })
    var change = HTTPRequest(method: "POST", path: "/pause")
    change.headers = [
      "host": "localhost", "origin": "http://localhost", "cookie": String(cookie),
      "content-type": "application/x-www-form-urlencoded",
    ]
    change.body = Array("key=\(access.formKey)".utf8)
    #expect(self.answer(change, of: access)?.status == 403)
  }
}
