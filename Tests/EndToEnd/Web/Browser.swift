import Foundation
import Glibc
import TestFiles
import Testing

/// Debian's Chromium without a window, led through its debugging protocol (Chrome DevTools Protocol) over two pipes.
///
/// One thread uses it: the test's.
final class Browser {
  static let path = "/usr/bin/chromium"
  static var isThere: Bool { FileManager.default.isExecutableFile(atPath: path) }

  private let process = Process()
  private let folder: URL
  private let commands: Int32
  private let answers: Int32
  private var received: [UInt8] = []
  private var lastID = 0
  private var session: String?
  /// Events that came while an answer was waited for.
  private var events: [(method: String, parameters: [String: Any])] = []
  /// Answers requests in place of the network; nil for those that go on.
  private var interception: ((_ url: String) -> String?)?
  /// What scripts and the page's security policy complained about.
  private(set) var complaints: [String] = []

  typealias Members = [String: Any]

  init() throws {
    // Chromium ends where the path of its socket, which it makes in TMPDIR, is longer than 107 bytes (unix(7)).
    folder = URL(fileURLWithPath: "/tmp/browser-\(getpid())-\(UInt32.random(in: 0 ... .max))")
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    // Chromium reads commands from descriptor 3 and answers on descriptor 4, each ended by a zero byte.
    let (input, output) = (folder.path + "/commands", folder.path + "/answers")
    try #require(mkfifo(input, 0o600) == 0 && mkfifo(output, 0o600) == 0)
    // With both open here, the shell's opening waits for nobody.
    commands = open(input, O_RDWR | O_CLOEXEC)
    answers = open(output, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    try #require(commands >= 0 && answers >= 0)
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = [
      "-c", "exec \"$0\" \"$@\" 3<'\(input)' 4>'\(output)'", Self.path, "--headless=new", "--no-sandbox",
      "--disable-gpu",
      "--disable-dev-shm-usage", "--no-first-run", "--disable-breakpad", "--disable-crash-reporter",
      "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
      "--user-data-dir=\(folder.path)/profile", "--remote-debugging-pipe", "about:blank",
    ]
    // It leaves temporary files behind when it is killed.
    process.environment = ProcessInfo.processInfo.environment.merging(
      ["HOME": folder.path, "TMPDIR": folder.path]) { $1 }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    let target = try send("Target.createTarget", ["url": "about:blank"])["targetId"] as? String
    session =
      try send("Target.attachToTarget", ["targetId": try #require(target), "flatten": true])["sessionId"] as? String
    try #require(session != nil)
    for domain in ["Page", "Runtime", "Log", "Network"] { try send(domain + ".enable") }
  }

  deinit {
    // It keeps processes of its own, which end when their pipe to it closes.
    if process.isRunning {
      process.send(SIGKILL)
      process.waitUntilExit()
    }
    close(commands)
    close(answers)
    try? FileManager.default.removeItem(at: folder)
  }

  // MARK: Pages

  /// Loads a page, and returns when its scripts have run.
  func load(_ url: String) throws {
    events.removeAll { $0.method == "Page.loadEventFired" }
    let answer = try send("Page.navigate", ["url": url])
    if let error = answer["errorText"] as? String { throw BrowserError(text: "\(url): \(error)") }
    try wait(for: "Page.loadEventFired")
  }

  /// The value of an expression of JavaScript on the page.
  func value(_ expression: String) throws -> Any? {
    let answer = try send(
      "Runtime.evaluate", ["expression": expression, "returnByValue": true, "awaitPromise": true])
    if let exception = answer["exceptionDetails"] { throw BrowserError(text: "\(expression): \(exception)") }
    return (answer["result"] as? Members)?["value"]
  }

  /// Runs a script at the beginning of each page that is loaded from now on, before the page's own scripts.
  func runFirst(_ script: String) throws {
    try send("Page.addScriptToEvaluateOnNewDocument", ["source": script])
  }

  func text(_ expression: String) throws -> String { try value(expression) as? String ?? "" }
  func isTrue(_ expression: String) throws -> Bool { try value(expression) as? Bool == true }

  /// Clicks in the middle of the first element that fits, as a person does.
  func click(_ selector: String) throws {
    let place = try place(of: selector)
    try turnMouse(.press, at: place)
    try turnMouse(.release, at: place)
  }

  /// A place in the window.
  struct Place {
    let x: Double
    let y: Double
  }

  enum MouseTurn: String {
    case press = "mousePressed"
    case release = "mouseReleased"
  }

  /// Presses or releases a button of the mouse, `left` or `right`.
  func turnMouse(_ turn: MouseTurn, _ button: String = "left", at place: Place) throws {
    try send(
      "Input.dispatchMouseEvent",
      ["type": turn.rawValue, "x": place.x, "y": place.y, "button": button, "clickCount": 1])
  }

  /// The middle of the first element that fits, which is scrolled into view.
  func place(of selector: String) throws -> Place {
    let place = try value(
      """
      (() => { const e = document.querySelector(\(Self.quoted(selector))); if (!e) return null;
        e.scrollIntoView({block: "center"}); const r = e.getBoundingClientRect();
        return [r.x + r.width / 2, r.y + r.height / 2] })()
      """)
    guard let point = place as? [Double] else {
      throw BrowserError(text: "there is no \(selector) on the page: \(try text("document.body.innerText"))")
    }
    return Place(x: point[0], y: point[1])
  }

  /// Clicks on what leads to another page, and returns when that page has been loaded.
  ///
  /// A live page may move the element before the mouse reaches it. Then this clicks again, as a person does.
  func follow(_ selector: String) throws {
    events.removeAll { $0.method == "Page.loadEventFired" }
    repeat {
      _ = try value(
        """
        window.isMissed = true;
        addEventListener(
          "click", e => { if (e.target.closest(\(Self.quoted(selector)))) window.isMissed = false }, true)
        """)
      try click(selector)
    } while try isMissed()
    try wait(for: "Page.loadEventFired")
  }

  /// Whether no click has reached the element of ``follow(_:)``; false once the page has gone.
  private func isMissed() throws -> Bool {
    do {
      return try isTrue("window.isMissed")
    } catch let error as BrowserError where error.text.contains("context") {
      return false
    }
  }

  /// Presses a key.
  func press(_ key: String, code: Int) throws {
    for type in ["keyDown", "keyUp"] {
      try send(
        "Input.dispatchKeyEvent", ["type": type, "key": key, "code": key, "windowsVirtualKeyCode": code])
    }
  }

  func setWindow(width: Int, height: Int, dark: Bool) throws {
    try send(
      "Emulation.setDeviceMetricsOverride",
      ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": false])
    try send(
      "Emulation.setEmulatedMedia",
      ["features": [["name": "prefers-color-scheme", "value": dark ? "dark" : "light"]]])
  }

  /// The page as a PNG: as wide as the window, and down to its end.
  func screenshot(atMost height: Int) throws -> Data {
    let size = try #require(try send("Page.getLayoutMetrics")["cssContentSize"] as? Members)
    let (width, whole) = ((size["width"] as? NSNumber)?.intValue ?? 0, (size["height"] as? NSNumber)?.intValue ?? 0)
    let clip: Members = ["x": 0, "y": 0, "width": width, "height": min(whole, height), "scale": 1]
    let answer = try send(
      "Page.captureScreenshot", ["format": "png", "captureBeyondViewport": true, "clip": clip])
    return try #require((answer["data"] as? String).flatMap { Data(base64Encoded: $0) })
  }

  /// Answers requests for some URLs by a page of HTML, so that a page can have any origin without a server.
  func answer(_ url: @escaping (String) -> String?) throws {
    interception = url
    try send("Fetch.enable", ["patterns": [["urlPattern": "*"]]])
  }

  static func quoted(_ text: String) -> String {
    let data = (try? JSONSerialization.data(withJSONObject: [text])) ?? Data()
    return String(String(decoding: data, as: UTF8.self).dropFirst().dropLast())
  }

  // MARK: The protocol

  /// Sends a command and waits for its answer.
  @discardableResult
  func send(_ method: String, _ parameters: Members = [:]) throws -> Members {
    let id = try post(method, parameters)
    while true {
      let message = try receive()
      if (message["id"] as? NSNumber)?.intValue == id {
        if let error = message["error"] as? Members {
          throw BrowserError(text: "\(method): \(error["message"] ?? "")")
        }
        return message["result"] as? Members ?? [:]
      }
      try note(message)
    }
  }

  private func post(_ method: String, _ parameters: Members) throws -> Int {
    lastID += 1
    var message: Members = ["id": lastID, "method": method, "params": parameters]
    if let session { message["sessionId"] = session }
    let bytes = [UInt8](try JSONSerialization.data(withJSONObject: message)) + [0]
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes { write(commands, $0.baseAddress! + sent, $0.count - sent) }
      try #require(count > 0)
      sent += count
    }
    return lastID
  }

  private func wait(for method: String) throws {
    while true {
      if let index = events.firstIndex(where: { $0.method == method }) {
        events.remove(at: index)
        return
      }
      try note(try receive())
    }
  }

  private func note(_ message: Members) throws {
    guard let method = message["method"] as? String else { return }
    let parameters = message["params"] as? Members ?? [:]
    switch method {
    case "Log.entryAdded":
      let entry = parameters["entry"] as? Members
      complaints.append("\(entry?["text"] ?? "") \(entry?["url"] ?? "")")
    case "Runtime.exceptionThrown": complaints.append("\(parameters["exceptionDetails"] ?? "")")
    case "Fetch.requestPaused":
      let id = parameters["requestId"] as? String ?? ""
      let url = (parameters["request"] as? Members)?["url"] as? String ?? ""
      if let html = interception?(url) {
        let headers = [["name": "Content-Type", "value": "text/html; charset=utf-8"]]
        _ = try post(
          "Fetch.fulfillRequest",
          [
            "requestId": id, "responseCode": 200, "responseHeaders": headers,
            "body": Data(html.utf8).base64EncodedString(),
          ])
      } else {
        _ = try post("Fetch.continueRequest", ["requestId": id])
      }
    default: break
    }
    events = events.suffix(200) + [(method, parameters)]
  }

  private func receive() throws -> Members {
    while true {
      if let end = received.firstIndex(of: 0) {
        let data = Data(received[..<end])
        received.removeSubrange(...end)
        return try #require(try JSONSerialization.jsonObject(with: data) as? Members)
      }
      var ready = pollfd(fd: answers, events: Int16(POLLIN), revents: 0)
      let seconds = LineReader.timeout.components.seconds
      guard poll(&ready, 1, Int32(seconds * 1000)) == 1 else { throw BrowserError(text: "the browser says nothing") }
      var chunk = [UInt8](repeating: 0, count: 1 << 16)
      let count = read(answers, &chunk, chunk.count)
      if count < 0, errno == EAGAIN { continue }
      guard count > 0 else { throw BrowserError(text: "the browser has ended") }
      received += chunk[..<count]
    }
  }
}

struct BrowserError: Error, CustomStringConvertible {
  let text: String
  var description: String { text }
}
