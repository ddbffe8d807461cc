import Foundation

/// A request as far as the pages need it.
struct HTTPRequest: Sendable {
  var method: String
  /// Without the query, decoded.
  var path: String
  /// The parameters behind the path.
  var query = Parameters()
  /// The headers that are looked at, by lower-case name.
  var headers: [String: String] = [:]
  /// What was posted.
  var body: [UInt8] = []

  /// Why it can be read in two ways: a proxy before this server may have read it in the other one.
  private(set) var ambiguity: String?

  /// The headers that are kept. A browser sends each of them once.
  private static let keptHeaders: Set<String> = [
    "host", "origin", "cookie", "authorization", "sec-fetch-site", "sec-fetch-mode", "content-type", "content-length",
    "transfer-encoding",
  ]

  /// Takes a header of the request, in the order in which they came.
  ///
  /// Source: https://www.rfc-editor.org/rfc/rfc9112#section-3.2 for two hosts, and #section-6.1 for two lengths.
  mutating func take(header name: String, _ value: String) {
    let name = name.lowercased()
    guard Self.keptHeaders.contains(name) else { return }
    if headers[name] != nil { ambiguity = "the request has the header \(name) twice" }
    headers[name] = value
    if headers["content-length"] != nil, headers["transfer-encoding"] != nil {
      ambiguity = "the request tells the length of its body in two ways"
    }
  }

  /// The fields of a posted form.
  var form: Parameters {
    guard headers["content-type"]?.hasPrefix("application/x-www-form-urlencoded") == true else { return Parameters() }
    return Parameters(encoded: String(decoding: body, as: UTF8.self))
  }

  /// The names between the path's slashes.
  var parts: [String] { path.split(separator: "/").map(String.init) }

  /// A path with a query, as it stands in an address of this server.
  init(method: String, target: String) {
    let halves = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    self.method = method
    path = halves[0].removingPercentEncoding ?? halves[0]
    query = Parameters(encoded: halves.count > 1 ? halves[1] : "")
  }

  init(method: String, path: String) {
    self.method = method
    self.path = path
  }
}

/// Names with values, as in a query or a form.
struct Parameters: Sendable {
  private(set) var pairs: [(name: String, value: String)] = []

  init() {}

  /// Reads `application/x-www-form-urlencoded`.
  init(encoded: String) {
    for part in encoded.split(separator: "&").prefix(Self.most) {
      let halves = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      add(Self.decoded(halves[0]), halves.count > 1 ? Self.decoded(halves[1]) : "")
    }
  }

  /// More fields than any form has.
  private static let most = 64

  mutating func add(_ name: String, _ value: String) {
    guard pairs.count < Self.most else { return }
    pairs.append((name, value))
  }

  /// The first value of that name; nil for none, and for an empty one.
  subscript(name: String) -> String? {
    pairs.first { $0.name == name }.flatMap { $0.value.isEmpty ? nil : $0.value }
  }

  /// All values of that name, empty ones left out.
  func all(_ name: String) -> [String] { pairs.filter { $0.name == name && !$0.value.isEmpty }.map(\.value) }

  private static func decoded(_ text: Substring) -> String {
    let spaced = text.replacingOccurrences(of: "+", with: " ")
    return spaced.removingPercentEncoding ?? spaced
  }
}

/// What is answered.
struct HTTPResponse: Sendable {
  enum Body: Sendable {
    case bytes([UInt8])
    case events(EventStream)
  }

  var status: UInt32
  var headers: [(String, String)]
  var body: Body

  init(_ status: UInt32, _ type: String, _ bytes: [UInt8]) {
    self.status = status
    headers = [("Content-Type", type)] + Self.strictness
    body = .bytes(bytes)
  }

  init(_ status: UInt32 = 200, _ html: HTML) {
    self.init(status, "text/html; charset=utf-8", Array(html.document.utf8))
  }

  /// Leads the browser on after a change, so that reloading the page does not repeat it.
  init(seeOther address: Address) {
    self.init(303, "text/plain; charset=utf-8", [])
    headers.append(("Location", address.text))
  }

  init(events: EventStream) {
    self.init(200, "text/event-stream", [])
    body = .events(events)
  }

  /// What every answer says to the browser: nothing from other servers, no script but ours, in nobody's frame, and to
  /// be kept nowhere.
  private static let strictness = [
    (
      "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        + "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"), ("Referrer-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cache-Control", "no-store"),
  ]
}
