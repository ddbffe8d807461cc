import Foundation
import PoolClient
import Testing

/// `workerpool web` in a real browser: Debian's Chromium, without a window.
@Suite(.serialized, .enabled(if: Browser.isThere, "Chromium is not installed (Debian: chromium)"))
struct BrowserTests {
  @Test(.timeLimit(.minutes(20)))
  func clicksChangeThePoolAndChangesAreShownWithoutLoadingThePage() throws {
    let items = try ItemPool()
    let pool = try items.start()
    let web = try RunningWeb(queue: items.queue)
    let browser = try Browser()
    try browser.load(web.url)
    #expect(try browser.text("location.href") == "http://127.0.0.1:\(web.port)/", "the token has left the address")
    #expect(try browser.text("document.cookie") == "", "no script sees the cookie")

    // Pause and resume by the mouse.
    try browser.follow("a[href='/queues']")
    try browser.follow("form[action='/pause'] button")
    #expect(try pool.status().isPaused)
    #expect(try browser.text("document.querySelector('[role=status].message').innerText").contains("pauses"))
    try browser.follow("form[action='/resume'] button")
    #expect(try !pool.status().isPaused)

    // A job appears and ends on a page that stays.
    try browser.load("http://127.0.0.1:\(web.port)/jobs")
    _ = try browser.value("window.isTheSamePage = true")
    try items.submit("fail", items: items.items, ["--max-attempts", "1"])
    try pool.wait { $0.jobs?["dead"] == 1 }
    try waitUntil("the job is shown as dead") {
      try browser.isTrue(
        "[...document.querySelectorAll('tbody tr')].some(r => /p1/.test(r.innerText) && /dead/.test(r.innerText))")
    }
    #expect(try browser.isTrue("window.isTheSamePage === true"))

    // Retry it from its own page: it fails again.
    try browser.follow("tbody a[href='/jobs/p1']")
    try browser.follow("form[action='/change'] button")
    try pool.wait { $0.counters.failed == 2 && $0.jobs?["dead"] == 1 }

    // By keyboard alone: the first stop is the link past the navigation.
    try browser.load("http://127.0.0.1:\(web.port)/")
    try browser.press("Tab", code: 9)
    #expect(try browser.text("document.activeElement.className") == "skip")
    try browser.press("Tab", code: 9)
    #expect(try browser.isTrue("document.activeElement.closest('nav') !== null"))
    #expect(browser.complaints.isEmpty, "\(browser.complaints)")
    try pool.stop()
  }

  /// A button that was replaced between its press and its release would get no click.
  ///
  ///     mouse                       page
  ///     is pressed on a button
  ///                                 a change arrives, and is not shown
  ///     is released
  ///                                 the button is clicked, then the change is shown
  ///
  /// - Parameter focus: what has the focus before, and loses it to the button.
  @Test(.timeLimit(.minutes(20)), arguments: ["body", "nav a"])
  func whatChangesWhileTheMouseIsDownIsShownAfterTheClick(focus: String) throws {
    let items = try ItemPool()
    let pool = try items.start()
    #expect(try pool.command("pause").code == 0)
    let web = try RunningWeb(queue: items.queue)
    let browser = try Browser()
    // Tells what has arrived, whether it is shown or not.
    try browser.runFirst(
      """
      window.arrived = "";
      window.EventSource = class extends EventSource {
        constructor(address) {
          super(address);
          this.addEventListener("page", ({ data }) => { window.arrived = data });
        }
      };
      """)
    try browser.load(web.url)
    try browser.load("http://127.0.0.1:\(web.port)/queues")
    let button = "form[action='/resume'] button"
    let shown = "document.getElementById('main').innerText"
    _ = try browser.value(
      """
      window.button = document.querySelector(\(Browser.quoted(button)));
      // The click is all that is looked at: the page stays.
      addEventListener("click", event => {
        event.preventDefault();
        window.clicked = event.target;
        window.shownAtClick = \(shown);
      }, true);
      document.querySelector(\(Browser.quoted(focus))).focus();
      """)
    let place = try browser.place(of: button)
    func submit(to queue: String) throws {
      try items.submit("add", items: items.items, ["--job-queue", queue])
      try waitUntil("a page with \(queue) has arrived") { try browser.isTrue("arrived.includes('\(queue)')") }
    }
    try browser.turnMouse(.press, at: place)
    try submit(to: "night")
    #expect(try browser.isTrue("!\(shown).includes('night')"), "the change waits")
    #expect(try browser.isTrue("document.elementFromPoint(\(place.x), \(place.y)) === button"))
    try browser.turnMouse(.release, at: place)
    try waitUntil("the change is shown") { try browser.isTrue("\(shown).includes('night')") }
    #expect(try browser.isTrue("clicked === button && !shownAtClick.includes('night')"))

    // The release of another button may never come.
    try browser.turnMouse(.press, "right", at: try browser.place(of: "h1"))
    try submit(to: "dawn")
    try waitUntil("the change is shown") { try browser.isTrue("\(shown).includes('dawn')") }
    #expect(browser.complaints.isEmpty, "\(browser.complaints)")
    try pool.stop()
  }

  /// The button logs out everywhere, and the form logs in again where one was.
  @Test(.timeLimit(.minutes(20)))
  func aPersonLogsOutAndInAgain() throws {
    let items = try ItemPool()
    let pool = try items.start()
    let web = try RunningWeb(queue: items.queue)
    let browser = try Browser()
    try browser.load(web.url)
    try browser.load("http://127.0.0.1:\(web.port)/jobs?state=dead")
    try browser.follow("form[action='/logout'] button")
    #expect(try browser.text("location.pathname") == "/login")
    #expect(try browser.isTrue("document.querySelector('nav') === null"))
    try browser.load("http://127.0.0.1:\(web.port)/jobs?state=dead")
    #expect(try browser.isTrue("document.querySelector('input[name=token]').type === 'password'"))
    func show(_ token: String) throws {
      _ = try browser.value("document.querySelector('input[name=token]').value = \(Browser.quoted(token))")
      try browser.follow("form[action='/login'] button")
    }
    try show(String(repeating: "x", count: 64))
    #expect(try browser.text("document.body.innerText").contains("not a token of this server"))
    try show(try #require(web.token))
    #expect(try browser.text("location.href") == "http://127.0.0.1:\(web.port)/jobs?state=dead")
    #expect(try browser.isTrue("document.querySelector('nav') !== null"))
    try pool.stop()
  }

  /// A user who can submit a job chooses its parameters and its errors, and runs no script in the operator's browser.
  @Test(.timeLimit(.minutes(20)))
  func markupInJobsIsText() throws {
    let markup = "</td><script>window.isTaken = 1</script><img src=x onerror='window.isTaken = 2'><b>bold</b>"
    let items = try ItemPool()
    let pool = try items.start()
    try items.submit(
      "misbehave", items: items.items,
      ["--set", "how=\(markup)", "--max-attempts", "1", "--batch", "<script>window.isTaken = 3</script>"])
    try pool.wait { $0.jobs?["dead"] == 1 }
    let web = try RunningWeb(queue: items.queue)
    let browser = try Browser()
    try browser.load(web.url)
    for path in ["", "jobs", "jobs/p1", "jobs?where=\(Self.query("errors CONTAINS '<script>'"))", "kinds", "workers"] {
      try browser.load("http://127.0.0.1:\(web.port)/\(path)")
      #expect(try browser.isTrue("window.isTaken === undefined"), "\(path)")
      #expect(
        try browser.isTrue("document.querySelectorAll('img[src=x], main script, main b').length === 0"), "\(path)")
    }
    try browser.load("http://127.0.0.1:\(web.port)/jobs/p1")
    #expect(try browser.text("document.body.innerText").contains("<b>bold</b>"))
    // What comes live is read by the script, and is text there, too.
    try items.submit("add")
    try waitUntil("the page is live") { try browser.text("document.getElementById('live').innerText") == "live" }
    #expect(try browser.isTrue("window.isTaken === undefined"))
    #expect(browser.complaints.isEmpty, "\(browser.complaints)")
    try pool.stop()
  }

  /// The operator's browser has the cookie, and shows a page of another origin that tries what it can.
  @Test(.timeLimit(.minutes(20)), arguments: ["http://hostile.example", "http://localhost:1"])
  func aPageOfAnotherOriginReadsAndChangesNothing(origin: String) throws {
    let items = try ItemPool()
    let pool = try items.start()
    try items.submit("add")
    try pool.waitForJobs(1)
    let web = try RunningWeb(queue: items.queue)
    let browser = try Browser()
    try browser.load(web.url)
    let target = "http://127.0.0.1:\(web.port)"
    try browser.answer { url in
      url.hasPrefix(origin) ? "<!DOCTYPE html><title>hostile</title><body><form method=post></form></body>" : nil
    }
    try browser.load(origin + "/")
    #expect(try browser.text("document.title") == "hostile")

    // It reads no answer, with or without the cookie.
    for options in ["{}", "{credentials: 'include'}", "{mode: 'no-cors', credentials: 'include'}"] {
      let read = try browser.text(
        "fetch('\(target)/jobs', \(options)).then(r => r.text()).then(t => 'text:' + t, e => 'refused')")
      #expect(read == "refused" || read == "text:", "\(options): \(read)")
    }
    let stream = try browser.text(
      """
      new Promise(done => { const e = new EventSource('\(target)/events?page=/', {withCredentials: true});
        e.onopen = () => done('open'); e.onerror = () => done('refused') })
      """)
    #expect(stream == "refused")
    let script = try browser.text(
      """
      new Promise(done => { const s = document.createElement('script'); s.src = '\(target)/assets/script.js';
        s.onload = () => done('loaded'); s.onerror = () => done('refused'); document.head.append(s) })
      """)
    #expect(script == "refused")
    // It shows no page in a frame of its own, so that nobody clicks there without knowing.
    let frame = try browser.text(
      """
      new Promise(done => { const f = document.createElement('iframe'); f.src = '\(target)/queues';
        f.onload = () => { try { done('text:' + f.contentDocument.body.innerText) } catch (e) { done('shut') } };
        document.body.append(f) })
      """)
    #expect(frame == "shut" || frame == "text:")

    // It changes nothing by a request.
    for body in ["'queue=default'", "new URLSearchParams({queue: 'default', key: ''})"] {
      _ = try browser.text(
        "fetch('\(target)/pause', {method: 'POST', mode: 'no-cors', credentials: 'include', body: \(body)})"
          + ".then(() => 'sent', () => 'refused')")
    }
    #expect(try !pool.status().isPaused && pool.status().pausedQueues.isEmpty)
    // Nor by a form that it sends, in the operator's own window.
    _ = try browser.value(
      """
      setTimeout(() => { const f = document.forms[0]; f.action = '\(target)/pause';
        f.innerHTML = '<input name=queue value=default><input name=key value=guess>'; f.submit() })
      """)
    // The address is there before the text.
    try waitUntil("the form's answer is shown") {
      try browser.isTrue("location.href.startsWith('\(target)') && document.readyState === 'complete'")
    }
    #expect(try browser.text("document.body.innerText").contains("another origin"))
    #expect(try !pool.status().isPaused && pool.status().pausedQueues.isEmpty)
    try pool.stop()
  }

  /// A million jobs: every page comes, and none gives the browser more than a part of them.
  @Test(.timeLimit(.minutes(20)))
  func aMillionJobsAreShownInPieces() throws {
    let items = try ItemPool()
    var pool = try items.start()
    try items.submit("add")
    try pool.waitForJobs(1)
    try pool.stop()
    // As rows: a million files would take minutes.
    _ = try sqlite(
      items.store,
      """
      WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
      INSERT INTO WPPOOLJOB (Z_PK, Z_ENT, Z_OPT, ZSTATE, ZKIND, ZQUEUE, ZPRIORITY, ZATTEMPT, ZCRASHES, ZPROGRESSDONE,
        ZPROGRESSTOTAL, ZCREATEDAT, ZSTARTEDAT, ZFINISHEDAT)
      SELECT i, j.Z_ENT, 1, CASE WHEN i % 3 = 0 THEN 0 ELSE 3 END, 'add', 'queue-' || (i % 50), 0, 1, 0, 0, 0,
        j.ZCREATEDAT, j.ZSTARTEDAT, CASE WHEN i % 3 = 0 THEN NULL ELSE j.ZFINISHEDAT - i % 600000 END
      FROM n, WPPOOLJOB j WHERE j.Z_PK = 1;
      UPDATE WP_PRIMARYKEY SET Z_MAX = 1000000 WHERE Z_NAME = 'PoolJob';
      INSERT INTO WPPOOLSETTING (Z_PK, Z_ENT, Z_OPT, ZNAME, ZVALUE) SELECT 900, Z_ENT, 1, 'paused', '1'
        FROM WP_PRIMARYKEY WHERE Z_NAME = 'PoolSetting' ON CONFLICT DO UPDATE SET ZVALUE = '1';
      """)
    pool = try items.start(options: ["--keep-count", "2000000", "--keep", "100"])
    let web = try RunningWeb(queue: items.queue)
    let browser = try Browser()
    try browser.load(web.url)
    // The pool counts a million jobs before it answers for the first time.
    try waitUntil("the pool has answered") {
      try browser.load("http://127.0.0.1:\(web.port)/jobs")
      return try browser.isTrue("document.querySelector('[role=alert]') === null")
    }
    var slowest = (seconds: 0.0, path: "")
    for path in [
      "", "?period=7d", "jobs", "jobs?state=succeeded", "jobs/p999999", "queues", "kinds", "workers",
      "change?do=cancel&state=available",
    ] {
      let start = Date()
      try browser.load("http://127.0.0.1:\(web.port)/\(path)")
      let seconds = Date().timeIntervalSince(start)
      if seconds > slowest.seconds { slowest = (seconds, path) }
      #expect(try browser.isTrue("document.querySelectorAll('a[href*=jobs]').length <= 240"), "/\(path)")
      #expect(try browser.isTrue("document.querySelector('[role=alert]') === null"), "/\(path)")
    }
    print("a million jobs: the slowest page, /\(slowest.path), took \((slowest.seconds * 100).rounded() / 100) s")
    #expect(slowest.seconds < 30)
    #expect(try browser.text("document.body.innerText").contains("333"))
    try pool.stop()
  }

  private static func query(_ text: String) -> String {
    text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
  }
}
