import Foundation
import PoolClient
import Testing

/// How the pages look: light and dark, wide and narrow. `WORKERPOOL_SCREENSHOTS=DIRECTORY` looks at more widths and
/// keeps the pictures for people to look at. Their history is made up; the picture in the documentation is one of a
/// real run, and not from here.
@Suite(.serialized, .enabled(if: Browser.isThere, "Chromium is not installed (Debian: chromium)"))
struct ScreenshotTests {
  private static let directory = ProcessInfo.processInfo.environment["WORKERPOOL_SCREENSHOTS"]
  private static let widths = directory == nil ? [1280, 400] : [1280, 1000, 700, 400]

  @Test(.timeLimit(.minutes(20)))
  func eachPageFitsItsWindowInLightAndDark() throws {
    let items = try ItemPool(items: 20)
    let stop = try StopPoint(items.place)
    try Self.fillHistory(items)
    let pool = try items.start(workers: 3)
    let web = try RunningWeb(queue: items.queue)
    try items.submit("add")
    try pool.waitForJobs(20)
    try items.submit("fail", items: Array(items.items.prefix(3)), ["--max-attempts", "1", "--job-queue", "imports"])
    try pool.wait { $0.jobs?["dead"] == 3 }
    try items.submit(
      "add", items: Array(items.items.prefix(8)), ["--run-at", "2099-01-01T00:00:00Z", "--job-queue", "mail"])
    try items.submit("misbehave", items: [items.items[0]], ["--set", "how=wait", "--set", "stop=\(stop.path)"])
    _ = try stop.waitForArrival()
    try #"{"cron": "30 2 * * mon-fri", "timeZone": "Europe/Berlin", "job": {"kind": "add"}}"#.write(
      toFile: items.place.path("queue/periodic/nightly.json"), atomically: true, encoding: .utf8)
    try waitUntil("the entry is known") { try pool.command("periodic").output.contains("nightly") }
    let worker = try pool.waitForRunningWorker()
    let browser = try Browser()
    try browser.load(web.url)
    let pages = [
      ("overview", ""), ("week", "?period=7d"), ("jobs", "jobs"), ("job", "jobs/p21"), ("queues", "queues"),
      ("kinds", "kinds"),
      ("workers", "workers"), ("worker", "workers/\(worker)"), ("periodic", "periodic"),
      ("change", "change?do=delete&state=dead"),
    ]
    for (name, path) in pages {
      var sizes: Set<Int> = []
      for width in Self.widths {
        for isDark in [false, true] {
          try browser.setWindow(width: width, height: 900, dark: isDark)
          try browser.load("http://127.0.0.1:\(web.port)/\(path)")
          let wide = try browser.value("document.documentElement.scrollWidth") as? Int ?? 0
          #expect(wide <= width, "/\(path) is \(wide) pixels wide in a window of \(width)")
          let cut = try browser.text(
            "[...document.querySelectorAll('.sheet, .plot, .timeline, pre')]"
              + ".filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.className || e.nodeName).join()")
          #expect(cut == "", "/\(path): cut off or to be scrolled sideways in a window of \(width): \(cut)")
          let rows = try browser.value(
            "new Set([...document.querySelectorAll('header nav a')].map(a => a.offsetTop)).size")
          #expect(rows as? Int == 1, "the names of the pages take \(rows ?? 0) lines in a window of \(width)")
          let periods = try browser.value(
            "new Set([...document.querySelectorAll('.choices a')].map(a => a.offsetTop)).size")
          #expect(periods as? Int ?? 0 <= 1, "the periods take \(periods ?? 0) lines in a window of \(width)")
          let broken = try browser.text(
            """
            [...document.querySelectorAll('.events td.tight')].filter(cell => {
              const text = document.createRange(); text.selectNodeContents(cell)
              return new Set([...text.getClientRects()].map(box => box.top)).size > 1
            }).map(cell => cell.innerText).join()
            """)
          #expect(broken == "", "/\(path): broken in a window of \(width): \(broken)")
          let ground = try browser.text("getComputedStyle(document.body).backgroundColor")
          let shade = ground.split(whereSeparator: { !$0.isNumber }).compactMap { Int($0) }.prefix(3).reduce(0, +)
          #expect(isDark ? shade < 200 : shade > 600, "/\(path) in \(isDark ? "dark" : "light"): \(ground)")
          let tiles = try browser.text(
            """
            { const tops = [...document.querySelectorAll('.tiles li')].map(e => e.offsetTop);
              [...new Set(tops)].map(top => tops.filter(t => t === top).length).join() }
            """)
          #expect(Set(tiles.split(separator: ",")).count <= 1, "tiles in rows of \(tiles) in a window of \(width)")
          if path.hasPrefix("workers") {
            let names = try browser.value(
              """
              [...document.querySelectorAll('.timeline text')].filter(e => {
                const box = e.getBoundingClientRect(); return box.width > 0 && box.left >= 0 && box.right <= innerWidth
              }).length
              """)
            #expect(names as? Int == (path == "workers" ? 3 : 1), "rows of the timeline that have a visible name")
          }
          let picture = try Self.picture(browser, atMost: 2400)
          guard [1280, 400].contains(width) else { continue }
          sizes.insert(picture.count)
          try Self.keep(picture, "\(name)-\(width)\(isDark ? "~dark" : "").png")
        }
      }
      #expect(sizes.count > 1, "/\(path): all pictures are the same")
    }
    #expect(browser.complaints.isEmpty, "\(browser.complaints)")
    stop.release()
    try pool.stop()
  }

  /// A long line of an error takes no room from the names of jobs and kinds, and makes no page wider.
  @Test(.timeLimit(.minutes(20)), arguments: widths)
  func aReportFitsItsWindowAndBreaksNoNames(width: Int) throws {
    let items = try ItemPool()
    let pool = try items.start()
    let long = String(repeating: "x", count: 400)
    try items.submit("misbehave", items: [items.items[0]], ["--set", "how=\(long)", "--max-attempts", "1"])
    try pool.wait { $0.jobs?["dead"] == 1 }
    let file = items.place.path("report.html")
    #expect(try pool.command("report", "--output", file).code == 0)
    let browser = try Browser()
    for isDark in [false, true] {
      try browser.setWindow(width: width, height: 900, dark: isDark)
      try browser.load("file://" + file)
      #expect(try browser.text("document.body.innerText").contains(long))
      let wide = try browser.value("document.documentElement.scrollWidth") as? Int ?? 0
      #expect(wide <= width, "the report is \(wide) pixels wide in a window of \(width)")
      let broken = try browser.text(
        """
        [...document.querySelectorAll('td.tight, td.name')].filter(cell => {
          const text = document.createRange(); text.selectNodeContents(cell.lastChild)
          return new Set([...text.getClientRects()].map(box => box.top)).size > 1
        }).map(cell => cell.innerText).join()
        """)
      #expect(broken == "", "broken in a window of \(width): \(broken)")
      try Self.keep(browser.screenshot(atMost: 2400), "report-\(width)\(isDark ? "~dark" : "").png")
    }
    try pool.stop()
  }

  /// The page without the path of the test's directory.
  private static func picture(_ browser: Browser, atMost height: Int) throws -> Data {
    _ = try browser.value(
      "{ const e = document.getElementById('pool-line'); "
        + "e.textContent = e.textContent.replace(/ on [^,]*,/, ' on queue/,') }"
    )
    return try browser.screenshot(atMost: height)
  }

  private static func keep(_ picture: Data, _ name: String) throws {
    guard let directory else { return }
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    try picture.write(to: URL(fileURLWithPath: directory + "/" + name))
  }

  /// A week in which a pool did something, as rows of its history.
  private static func fillHistory(_ items: ItemPool) throws {
    let pool = try items.start()
    try items.submit("nothing", items: [items.items[0]])
    try pool.waitForJobs(1)
    try pool.stop()
    for (step, chunk, chunks, count) in [(60.0, 1800.0, 14, 400), (1800.0, 86_400.0, 9, 336)] {
      let now = (Date().timeIntervalSinceReferenceDate / step).rounded(.down) * step
      var settings: [String: [String]] = [:]
      for index in stride(from: count, to: 0, by: -1) {
        let start = now - Double(index) * step
        let wave = sin(start / 86_400 * 2 * .pi) + 1.2 + 0.2 * sin(start / 700)
        let jobs = Int(wave * step * 4)
        let numbers = [
          start, Double(jobs), Double(jobs / 90), Double(jobs / 300), (wave * 40).rounded(), 8, 3,
          90e6 + 30e6 * wave, min(2, wave), 0.01 * wave, 0.05 * wave, 0.4 * wave, 0.02, 0.08 * wave, 0.9 * wave,
        ]
        let line = numbers.map { $0 == $0.rounded() ? String(Int64($0)) : String(($0 * 10_000).rounded() / 10_000) }
        settings["history.\(Int(step)).\(Int((start / chunk).rounded(.down)) % chunks)", default: []].append(
          line.joined(separator: " "))
      }
      for (name, lines) in settings {
        _ = try sqlite(
          items.store,
          """
          UPDATE WP_PRIMARYKEY SET Z_MAX = Z_MAX + 1 WHERE Z_NAME = 'PoolSetting';
          INSERT INTO WPPOOLSETTING (Z_PK, Z_ENT, Z_OPT, ZNAME, ZVALUE) SELECT Z_MAX, Z_ENT, 1, '\(name)',
            '\(lines.joined(separator: "\n"))' FROM WP_PRIMARYKEY WHERE Z_NAME = 'PoolSetting';
          """)
      }
    }
  }
}
