import Foundation
import Jobs
import TestFiles
import Testing

/// Completions and manual pages, read by the programs that they are for.
@Suite struct InstallationTests {
  private var commands: [String] {
    get throws {
      let help = try workerpool("--help").output
      let part = try #require(help.components(separatedBy: "Commands:\n").last?.components(separatedBy: "\n\n").first)
      // Summaries that are wrapped begin further right.
      return part.split(separator: "\n").filter { !$0.hasPrefix("   ") }.compactMap { line in
        line.split(separator: " ").first.map(String.init)
      }
    }
  }

  /// The words that bash offers at the end of a command line.
  private func completions(_ words: String...) throws -> Set<String> {
    let script = """
      workerpool() { "$0" "$@"; }
      source <(workerpool completion bash)
      COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }
      _workerpool; printf '%s\\n' "${COMPREPLY[@]}"
      """
    let finished = try run("/usr/bin/env", ["bash", "-c", script, Built.path("workerpool"), "workerpool"] + words)
    #expect(finished.code == 0 && finished.errors.isEmpty, "\(finished.errors)")
    return Set(finished.lines)
  }

  @Test func bashCompletesCommandsOptionsAndPaths() throws {
    #expect(try completions("").isSuperset(of: commands))
    #expect(try completions("re") == ["report", "retry", "resume", "reload", "reexec"])
    #expect(try completions("run", "--st") == ["--stalled-after", "--store", "--store-wait"])
    #expect(try completions("run", "--store", "/etc/pass").contains("/etc/passwd"))
    #expect(try completions("run", "--workers", "").filter { !$0.isEmpty }.isEmpty)
    // bash gives a word with = as several.
    #expect(try completions("run", "--store", "=", "/etc/pass").contains("/etc/passwd"))
  }

  @Test(.timeLimit(.minutes(20)))
  func bashCompletesValues() throws {
    #expect(try completions("jobs", "--state", "de") == ["dead"])
    #expect(try completions("jobs", "--waits-for", "pa") == ["paused"])
    #expect(try completions("jobs", "--sort", "ol") == ["oldest"])
    #expect(try completions("jobs", "--sort", "=", "ol") == ["oldest"])
    #expect(try completions("jobs", "--sort", "=").isSuperset(of: ["newest", "oldest"]))
    // Names and jobs come from the pool of the queue directory.
    var former = ""
    try withPool { queue throws in
      #expect(try completions("jobs", "--queue", queue, "--kind", "ad") == ["add", "add-slowly"])
      #expect(try completions("jobs", "--queue", "=", queue, "--kind", "ad") == ["add", "add-slowly"])
      #expect(try completions("resume", "--queue", queue, "ni") == ["nightly"])
      #expect(try completions("retry", "--queue", queue, "p") == ["p1"])
      former = queue
    }
    // Without a pool nothing is offered, and nothing is printed into the line.
    #expect(try completions("retry", "--queue", former, "p").filter { !$0.isEmpty }.isEmpty)
  }

  @Test func bashCompletesAPathWithASpaceAsOneWord() throws {
    let place = try TestPlace()
    try place.write("", to: "two words.sqlite")
    #expect(try completions("run", "--store", place.path("two")) == [place.path("two words.sqlite")])
  }

  /// The shell itself completes: a script that it accepts could still offer nothing.
  @Test(.enabled(if: access("/usr/bin/fish", X_OK) == 0, "fish is not installed"))
  func fishCompletesCommandsOptionsPathsAndValues() throws {
    func completions(_ line: String) throws -> Set<String> {
      // The script asks the `workerpool` that it finds for values.
      let script = """
        set -x PATH (dirname $argv[1]) $PATH; workerpool completion fish | source; complete --do-complete $argv[2]
        """
      let finished = try run("/usr/bin/fish", ["--no-config", "-c", script, Built.path("workerpool"), line])
      #expect(finished.code == 0 && finished.errors.isEmpty, "\(finished)")
      return Set(finished.lines.map { String($0.prefix { $0 != "\t" }) })
    }
    #expect(try completions("workerpool ").isSuperset(of: commands))
    #expect(try completions("workerpool run --st").isSuperset(of: ["--stalled-after", "--store", "--store-wait"]))
    #expect(try completions("workerpool run --store /etc/pass").contains("/etc/passwd"))
    #expect(try completions("workerpool run --store=/etc/pass").contains("--store=/etc/passwd"))
    #expect(try completions("workerpool migrate --").contains("--dry-run"))
    #expect(try !completions("workerpool run --").contains("--dry-run"))
    #expect(try completions("workerpool jobs --state de") == ["dead"])
    try withPool { queue throws in
      #expect(try completions("workerpool jobs --queue \(queue) --kind ad") == ["add", "add-slowly"])
      #expect(try completions("workerpool jobs --queue=\(queue) --kind ad") == ["add", "add-slowly"])
      #expect(try completions("workerpool resume --queue \(queue) ni") == ["nightly"])
      #expect(try completions("workerpool retry --queue \(queue) p").contains("p1"))
    }
  }

  /// Calls the body with the queue directory of a pool that has a job, and a queue that is paused.
  private func withPool(_ body: (_ queue: String) throws -> Void) throws {
    let items = try ItemPool()
    let pool = try items.start()
    try items.submit("add")
    try pool.waitForJobs(1)
    #expect(try pool.command("pause", "nightly").code == 0)
    try body(items.queue)
    try pool.stop()
  }

  /// zsh completes only at a terminal, so it gets one of its own (zpty of zshmodules(1)).
  @Test(.timeLimit(.minutes(20)), .enabled(if: access("/usr/bin/zsh", X_OK) == 0, "zsh is not installed"))
  func zshCompletesCommandsOptionsPathsAndValues() throws {
    let place = try TestPlace()
    try place.write(try workerpool("completion", "zsh").output, to: "functions/_workerpool")
    try place.write(Self.zshScript, to: "complete.zsh")
    func completions(_ line: String) throws -> String {
      let words = [place.path("complete.zsh"), place.path("functions"), line, Built.directory]
      let finished = try run("/usr/bin/zsh", ["-f"] + words)
      #expect(finished.code == 0, "\(finished)")
      return finished.output
    }
    let names = try completions("workerpool ")
    for command in try commands { #expect(names.contains(command), "\(command) in \(names)") }
    let options = try completions("workerpool run --st")
    #expect(
      options.contains("--store") && options.contains("--store-wait") && !options.contains("--dry-run"), "\(options)")
    #expect(try completions("workerpool run --store /etc/pass").contains("/etc/passwd"))
    #expect(try completions("workerpool run --store=/etc/pass").contains("/etc/passwd"))
    #expect(try completions("workerpool jobs --state de").contains("dead"))
    try withPool { queue throws in
      let kinds = try completions("workerpool jobs --queue \(queue) --kind ad")
      #expect(kinds.contains("add-slowly"), "\(kinds)")
      #expect(try completions("workerpool jobs --queue=\(queue) --kind ad").contains("add-slowly"))
      #expect(try completions("workerpool resume --queue \(queue) ni").contains("nightly"))
      #expect(try completions("workerpool retry --queue \(queue) p").contains("p1"))
    }
  }

  /// Types a line and Tab twice, takes the line away, and prints all that the shell wrote meanwhile.
  private static let zshScript = #"""
    zmodload zsh/zpty
    zpty shell zsh -f -i
    zpty -w shell "PS1='line>'; path=($3 \$path); fpath=($1 \$fpath)"
    zpty -w shell "autoload -Uz compinit; compinit -u -D; stty columns 150 rows 200"
    zpty -w shell "setopt auto_list no_list_ambiguous no_auto_menu no_beep; LISTMAX=1000; print READ''Y"
    # Before it shows the prompt, the shell does not take single keys.
    zpty -r shell all '*READY*line>*'
    zpty -w -n shell "$2"$'\t\t\025'"print DO''NE"$'\n'
    zpty -r shell all '*DONE*'
    print -r -- "$all"
    zpty -d shell
    """#

  @Test func theScriptsOfOtherShellsNameEveryCommandAndOption() throws {
    for shell in ["zsh", "fish"] {
      let script = try workerpool("completion", shell).output
      for command in try commands { #expect(script.contains(command), "\(command) for \(shell)") }
      #expect(script.contains(shell == "zsh" ? "'--store=[" : "-l store -r -F"), "\(shell)")
    }
    #expect(try workerpool("completion", "tcsh").code == 2)
  }

  @Test(.timeLimit(.minutes(20))) func theDashboardAndTheAlertsUseMetricsThatAPoolHas() throws {
    // Given the metrics of a pool whose jobs have run
    let items = try ItemPool()
    let pool = try items.start()
    try items.submit("nothing")
    // What a job has used is measured only if it takes a while.
    try items.submit("misbehave", "--set", "how=burn")
    try pool.waitForJobs(2)
    #expect(try pool.status().kinds?.first { $0.kind == "nothing" }?.counters.done == 1)
    // And another job waits, since all is paused
    #expect(try pool.command("pause").code == 0)
    try items.submit("nothing")
    try pool.wait { $0.kinds?.first { $0.kind == "nothing" }?.oldestWaiting.map { $0 >= 0 && $0 < 600 } == true }
    let metrics = try pool.command("status", "--prometheus").output
    try pool.stop()
    // When the names of metrics are taken from both files
    for what in ["dashboard", "alerts"] {
      let text = try workerpool("monitoring", what).output
      let names = Set(text.matches(of: #/workerpool_[a-z_]+/#).map { String($0.output) })
      // Then the pool has them all
      let missing = names.filter { !metrics.contains("\n\($0){") && !metrics.contains("\n\($0) ") }
      #expect(names.count > 5 && missing.isEmpty, "\(what): \(missing)\n\(metrics)")
    }
    #expect(throws: Never.self) { try JSONParser.parse(try workerpool("monitoring", "dashboard").output) }
    #expect(try workerpool("monitoring", "other").code == 2)
  }

  @Test func eachCommandHasAPageThatManCanShow() throws {
    let directory = temporaryURL("manual")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    #expect(try workerpool("manual", "--output", directory.path).code == 0)
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
    #expect(Set(names) == Set(["workerpool.1"] + (try commands).map { "workerpool-\($0).1" }))
    for name in names {
      let text = try String(contentsOf: directory.appendingPathComponent(name), encoding: .utf8)
      #expect(text.hasPrefix(".TH WORKERPOOL") && text.contains("\n.SH NAME\n"), "\(name)")
      // Every request is one of man(7).
      let requests = Set(text.split(separator: "\n").filter { $0.hasPrefix(".") }.map { $0.prefix { $0 != " " } })
      #expect(
        requests.isSubset(of: [".TH", ".SH", ".TP", ".B", ".BR", ".I", ".PP", ".nf", ".fi"]), "\(name) \(requests)")
    }
    let run = try workerpool("manual", "run").output
    #expect(run.contains("\\fB\\-\\-workers\\fR \\fIN\\fR"))
  }
}
