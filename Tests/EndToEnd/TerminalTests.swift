import Foundation
import Glibc
import LinuxSystem
import Testing

/// What a person sees at a terminal, which here is a pseudoterminal of 24 rows and 80 columns.
@Suite(.serialized) struct TerminalTests {
  /// A program on a pseudoterminal.
  private final class Terminal {
    private let master: Descriptor
    private let pid: pid_t
    private(set) var output: [UInt8] = []

    /// TIOCSPTLCK and TIOCGPTN of ioctl_tty(2), which Glibc's module lacks.
    private static let lock: UInt = 0x4004_5431
    private static let getNumber: UInt = 0x8004_5430

    init(_ arguments: [String], environment: [String: String] = ["TERM": "xterm"]) throws {
      master = try Descriptor(open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), "open")
      var unlocked: Int32 = 0
      var number: UInt32 = 0
      #expect(ioctl(master.number, Self.lock, &unlocked) == 0 && ioctl(master.number, Self.getNumber, &number) == 0)
      let name = "/dev/pts/\(number)"
      var size = winsize(ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0)
      #expect(ioctl(master.number, UInt(TIOCSWINSZ), &size) == 0)
      var actions = posix_spawn_file_actions_t()
      posix_spawn_file_actions_init(&actions)
      defer { posix_spawn_file_actions_destroy(&actions) }
      posix_spawn_file_actions_addopen(&actions, 0, name, O_RDWR | O_NOCTTY, 0)
      posix_spawn_file_actions_adddup2(&actions, 0, 1)
      posix_spawn_file_actions_adddup2(&actions, 0, 2)
      let path = Built.path("workerpool")
      var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
      var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0)=\($1)") } + [nil]
      defer { (words + variables).forEach { free($0) } }
      // A group of its own, as a shell gives each job: it may stop itself.
      var attributes = posix_spawnattr_t()
      posix_spawnattr_init(&attributes)
      defer { posix_spawnattr_destroy(&attributes) }
      posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
      var pid: pid_t = 0
      #expect(posix_spawn(&pid, path, &actions, &attributes, &words, &variables) == 0)
      self.pid = pid
    }

    /// Reads until the output satisfies the condition, or has ended.
    func read(until condition: (String) -> Bool) -> String {
      var bytes = [UInt8](repeating: 0, count: 65_536)
      while !condition(String(decoding: output, as: UTF8.self)) {
        let count = Glibc.read(master.number, &bytes, bytes.count)
        // A pseudoterminal without a process has no end of file but EIO.
        if count <= 0 { break }
        output += bytes[..<count]
      }
      return String(decoding: output, as: UTF8.self)
    }

    func type(_ keys: String) {
      _ = Array(keys.utf8).withUnsafeBytes { write(master.number, $0.baseAddress, $0.count) }
    }

    /// Whether keys are read one by one and not echoed.
    var isRaw: Bool {
      var settings = termios()
      return tcgetattr(master.number, &settings) == 0 && settings.c_lflag & tcflag_t(ICANON | ECHO) == 0
    }

    func end(with signal: Int32) { kill(pid, signal) }

    /// Waits until the program has stopped, or has ended; whether it has stopped.
    func waitForStop() -> Bool {
      var status: Int32 = 0
      while waitpid(pid, &status, WUNTRACED) < 0, errno == EINTR {}
      return status & 0xFF == 0x7F
    }

    /// The wait status of the program.
    func wait() -> Int32 {
      _ = read { _ in false }
      var status: Int32 = 0
      while waitpid(pid, &status, 0) < 0, errno == EINTR {}
      return status
    }
  }

  @Test(.timeLimit(.minutes(20)))
  func theDemoShowsThePoolWhileItsJobsComeAndKillsAWorkerThatWorks() throws {
    // Given
    let place = try TestPlace()
    for number in 1...40 {
      try place.write(String(repeating: "some words of text \(number)\n", count: 500), to: "texts/\(number).txt")
    }
    // When its jobs come over some seconds
    let start = Date()
    let terminal = try Terminal(["demo", "--seconds", "4", place.path("texts")])
    let first = terminal.read { $0.contains("running; version") }
    // Then the pool's status is shown meanwhile, and drawn over
    #expect(first.contains("the first jobs are submitted"), "\(first)")
    #expect(terminal.wait() == 0)
    let all = String(decoding: terminal.output, as: UTF8.self)
    #expect(Date().timeIntervalSince(start) >= 4 && all.contains("\u{1B}[J"))
    // No line is broken by the terminal, so that what is drawn over is what was drawn.
    let lines = all.replacing(#/\u{1B}\[[0-9;]*[A-Za-z]/#, with: "").split(whereSeparator: \.isNewline)
    let long = lines.filter { $0.count > 80 && !$0.contains("workerpool-demo-") && !$0.contains("/workerpool ") }
    #expect(long.isEmpty, "\(long)")
    for sentence in ["jobs at once", "kill -9", "is replaced by worker", "all 40 jobs are done", "most frequent words"]
    {
      #expect(all.contains(sentence), "\(sentence)")
    }
  }

  @Test(.timeLimit(.minutes(20)))
  func aWatchedStatusTakesTheScreenObeysKeysAndGivesItBack() throws {
    let items = try ItemPool()
    let pool = try items.start()
    let terminal = try Terminal(["status", "--watch", "--interval", "0.05", "--queue", items.queue])
    let first = terminal.read { $0.contains("sorted by number") }
    #expect(first.contains("\u{1B}[?1049h") && first.contains("pool \(pool.pid), running"), "\(first)")
    #expect(terminal.isRaw)
    terminal.type("m")
    #expect(terminal.read { $0.contains("sorted by memory") }.contains("sorted by memory"))
    terminal.type("q")
    #expect(terminal.wait() == 0)
    #expect(String(decoding: terminal.output, as: UTF8.self).hasSuffix("\u{1B}[?25h\u{1B}[?1049l"))
    #expect(!terminal.isRaw)

    // The screen comes back also when a signal ends the program.
    for signal in [SIGTERM, SIGHUP, SIGINT, SIGQUIT] {
      let killed = try Terminal(["jobs", "--watch", "--queue", items.queue])
      #expect(killed.read { $0.contains("q quits") }.contains("newest first"))
      killed.end(with: signal)
      #expect(killed.wait() & 0x7F == signal)
      #expect(String(decoding: killed.output, as: UTF8.self).hasSuffix("\u{1B}[?25h\u{1B}[?1049l"))
      #expect(!killed.isRaw)
    }

    // It ends with the pool.
    let last = try Terminal(["status", "--watch", "--interval", "0.05", "--queue", items.queue])
    _ = last.read { $0.contains("sorted by number") }
    try pool.stop()
    #expect(last.wait() == 0)
    #expect(String(decoding: last.output, as: UTF8.self).contains("pool \(pool.pid) does not answer any more"))
  }

  @Test(.timeLimit(.minutes(20)))
  func watchedJobsAreFilteredAndOpenedByKeys() throws {
    let items = try ItemPool()
    let pool = try items.start()
    try items.submit("misbehave", "--set", "how=throw", "--max-attempts", "1", "--tag", "red")
    try items.submit("add")
    try pool.wait { $0.jobs?["dead"] == 1 && $0.jobs?["succeeded"] == 1 }
    let terminal = try Terminal(["jobs", "--watch", "--queue", items.queue])
    #expect(terminal.read { $0.contains("? help") }.contains("newest first"))
    // The keys come at once, as from a paste: letters of a text are no commands.
    terminal.type("/tag=red\n")
    #expect(terminal.read { $0.contains("; only tag=red") }.contains("> p1"))
    terminal.type("\n")
    #expect(terminal.read { $0.contains("Esc leads back") }.contains("what happened"))
    terminal.type("?")
    #expect(terminal.read { $0.contains("any key leads back") }.contains("opens the selected job"))
    terminal.type("q")
    #expect(terminal.wait() == 0)
    #expect(!terminal.isRaw)
    let status = try Terminal(["status", "--watch", "--interval", "0.05", "--queue", items.queue])
    _ = status.read { $0.contains("? help") }
    status.type("?")
    #expect(status.read { $0.contains("any key leads back") }.contains("sorts the workers by memory"))
    status.type("q")
    #expect(status.wait() == 0)
    try pool.stop()
  }

  /// As `top` and editors do it: the shell that shows up meanwhile has the terminal as it was.
  @Test(.timeLimit(.minutes(20)), arguments: [true, false])
  func aWatchedStatusGivesTheTerminalToTheShellWhileItIsStopped(byKey: Bool) throws {
    let items = try ItemPool()
    let pool = try items.start()
    let terminal = try Terminal(["status", "--watch", "--interval", "0.05", "--queue", items.queue])
    for round in 1...2 {
      _ = terminal.read { $0.components(separatedBy: "\u{1B}[?1049h").last?.contains("sorted by number") == true }
      #expect(terminal.isRaw)
      if byKey { terminal.type("\u{1A}") } else { terminal.end(with: SIGTSTP) }
      _ = terminal.read { $0.components(separatedBy: "\u{1B}[?25h\u{1B}[?1049l").count == round + 1 }
      #expect(terminal.waitForStop())
      #expect(!terminal.isRaw)
      terminal.end(with: SIGCONT)
      _ = terminal.read { $0.components(separatedBy: "\u{1B}[?1049h").count == round + 2 }
    }
    #expect(terminal.isRaw)
    terminal.type("q")
    #expect(terminal.wait() == 0)
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20)))
  func tablesFitTheTerminalAndHaveColoursUnlessNobodyWantsThem() throws {
    let items = try ItemPool()
    let pool = try items.start()
    try items.submit("misbehave", "--set", "how=throw", "--max-attempts", "1")
    try pool.wait { $0.jobs?["dead"] == 1 }
    func lines(_ arguments: [String], _ environment: [String: String]) throws -> [Substring] {
      let terminal = try Terminal(arguments + ["--queue", items.queue], environment: environment)
      #expect(terminal.wait() == 0)
      return String(decoding: terminal.output, as: UTF8.self).split(whereSeparator: \.isNewline)
    }
    let coloured = try lines(["jobs"], ["TERM": "xterm"])
    #expect(coloured.contains { $0.contains("\u{1B}[31mdead\u{1B}[0m") }, "\(coloured)")
    for arguments in [["jobs"], ["status"], ["workers"]] {
      let plain = try lines(arguments, ["TERM": "xterm", "NO_COLOR": "1"])
      #expect(!plain.joined().contains("\u{1B}"))
      #expect(plain.allSatisfy { $0.count <= 80 }, "\(plain.filter { $0.count > 80 })")
    }
    let jobs = try lines(["jobs"], ["TERM": "dumb"])
    #expect(jobs.first?.hasPrefix("job  kind") == true && jobs.first?.hasSuffix("last error") == true, "\(jobs)")
    try pool.stop()
  }

  /// A terminal that cannot move its cursor, such as an editor's, gets lines and no control sequences.
  @Test(.timeLimit(.minutes(20)), arguments: [["TERM": "dumb"], ["TERM": ""], [:]])
  func aDumbTerminalGetsPlainLines(environment: [String: String]) throws {
    let items = try ItemPool()
    let pool = try items.start()
    try items.submit("add")
    try pool.waitForJobs(1)
    let jobs = try Terminal(["jobs", "--watch", "--queue", items.queue], environment: environment)
    #expect(jobs.wait() == 0)
    let status = try Terminal(
      ["status", "--watch", "--interval", "0.05", "--queue", items.queue], environment: environment)
    // Again and again, one below the other.
    #expect(status.read { $0.components(separatedBy: "pool \(pool.pid)").count > 3 }.contains("so far    1 done"))
    status.end(with: SIGKILL)
    _ = status.wait()
    for output in [jobs.output, status.output] {
      #expect(!output.contains(0x1B), "\(String(decoding: output, as: UTF8.self))")
    }
    try pool.stop()
  }

  /// Who waits for one job sees how far it is, as its worker counts.
  @Test(.timeLimit(.minutes(20)))
  func aJobThatIsWaitedForShowsItsProgress() throws {
    let items = try ItemPool()
    let pool = try items.start()
    let end = items.place.path("end")
    let terminal = try Terminal([
      "submit", "wait", items.items[0], "--set", "until=\(end)", "--wait", "--queue", items.queue,
    ])
    #expect(terminal.read { $0.contains("1 of 2 done") }.contains("1 of 2 done"))
    try Data().write(to: URL(fileURLWithPath: end))
    #expect(terminal.wait() == 0)
    #expect(String(decoding: terminal.output, as: UTF8.self).contains("succeeded"))
    try pool.stop()
  }

  /// A wrong word, a missing pool: what to do is said, with the exit code of the case.
  @Test(.timeLimit(.minutes(20)))
  func mistakesOnTheCommandLineSayWhatToDo() throws {
    let items = try ItemPool()
    func tried(_ arguments: String...) throws -> (code: Int32, text: String) {
      let finished = try run(Built.path("workerpool"), arguments + ["--queue", items.queue])
      return (finished.code, finished.errors + finished.output)
    }
    let jobs = try tried("jobs")
    #expect(jobs.code == 3 && jobs.text.contains("--store names the store"), "\(jobs)")
    let workers = try tried("workers", "p1")
    #expect(workers.code == 2 && workers.text.contains("workerpool jobs show p1"), "\(workers)")
    let cancel = try tried("cancel", "--help")
    #expect(cancel.code == 0 && !cancel.text.contains("retry --"), "\(cancel)")
    let pool = try items.start()
    let typo = try tried("fetch", "Item", "--where", "vlaue > 1")
    #expect(typo.code == 1 && typo.text.contains("did you mean value?"), "\(typo)")
    try pool.stop()
  }
}
