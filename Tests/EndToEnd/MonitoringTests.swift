import Foundation
import TestFiles
import Testing

private enum Prometheus {
  /// The path of its program for checks; nil where it is not installed.
  static let promtool: String? = [
    ProcessInfo.processInfo.environment["WORKERPOOL_PROMTOOL"], "/usr/bin/promtool", "/usr/local/bin/promtool",
  ].compactMap(\.self).first { FileManager.default.isExecutableFile(atPath: $0) }
}

/// What Prometheus itself says of the metrics, of the alert rules and of the dashboard's queries: its promtool checks
/// them (Debian: prometheus). `WORKERPOOL_PROMTOOL` names it where it is not installed.
@Suite(.serialized, .enabled(if: Prometheus.promtool != nil, "promtool is not installed (Debian: prometheus)"))
struct MonitoringTests {
  private func check(_ place: TestPlace, _ arguments: String..., input: String? = nil) throws -> Finished {
    let promtool = try #require(Prometheus.promtool)
    guard let input else { return try run(promtool, arguments) }
    let file = try place.write(input, to: "input")
    return try run("/bin/sh", ["-c", "exec \"$0\" \"$@\" < '\(file)'", promtool] + arguments)
  }

  @Test(.timeLimit(.minutes(20)))
  func prometheusAcceptsTheMetrics() throws {
    let items = try ItemPool()
    let pool = try items.start(options: ["--metrics-file", items.place.path("pool.prom")])
    try items.submit("add")
    try items.submit("fail", items: items.items, ["--max-attempts", "1", "--job-queue", "other"])
    try items.submit("add", items: items.items, ["--run-at", "2099-01-01T00:00:00Z"])
    try pool.wait { $0.jobs?["dead"] == 1 && $0.jobs?["succeeded"] == 1 }
    let metrics = try pool.command("status", "--prometheus").output
    #expect(metrics.contains("workerpool_job_run_duration_seconds_bucket"))
    let checked = try check(items.place, "check", "metrics", input: metrics)
    #expect(checked.code == 0 && checked.errors.isEmpty && checked.output.isEmpty, "\(checked)")
    try pool.stop()
    let last = try check(
      items.place, "check", "metrics", input: String(contentsOfFile: items.place.path("pool.prom"), encoding: .utf8))
    #expect(last.code == 0 && last.errors.isEmpty, "\(last)")
  }

  /// What the page says about scraping the web program.
  @Test(.timeLimit(.minutes(20)))
  func prometheusAcceptsTheConfigurationOfThePage() throws {
    let page = try #require(DocumentationPage.all.first { $0.path.hasSuffix("/Operating.md") })
    let block = try #require(page.blocks.first { $0.language == "yaml" })
    let place = try TestPlace()
    let token = try place.write(String(repeating: "t", count: 32), to: "token")
    let path = "/etc/prometheus/workerpool-token"
    #expect(block.text.contains(path))
    let file = try place.write(block.text.replacingOccurrences(of: path, with: token), to: "prometheus.yml")
    let checked = try check(place, "check", "config", file)
    #expect(checked.code == 0 && checked.output.contains("is valid"), "\(checked)")
  }

  @Test(.timeLimit(.minutes(20)))
  func prometheusAcceptsTheAlertRulesAndTheQueriesOfTheDashboard() throws {
    let place = try TestPlace()
    let alerts = try place.write(try workerpool("monitoring", "alerts").output, to: "alerts.yml")
    let checked = try check(place, "check", "rules", alerts)
    #expect(checked.code == 0 && checked.output.contains("SUCCESS"), "\(checked)")

    let dashboard = try JSONSerialization.jsonObject(with: Data(workerpool("monitoring", "dashboard").output.utf8))
    let queries = Self.queries(in: dashboard).map { query in
      [("$__rate_interval", "5m"), ("$instance", ".*"), ("$kind", ".*")].reduce(query) {
        $0.replacingOccurrences(of: $1.0, with: $1.1)
      }
    }
    #expect(queries.count > 20 && !queries.contains { $0.contains("$") })
    let rules = queries.enumerated().map { "  - record: query:\($0)\n    expr: '\($1)'\n" }.joined()
    let file = try place.write("groups:\n- name: dashboard\n  rules:\n" + rules, to: "queries.yml")
    let parsed = try check(place, "check", "rules", file)
    #expect(parsed.code == 0 && parsed.output.contains("SUCCESS: \(queries.count) rules"), "\(parsed)")
  }

  /// All texts under the name `expr`.
  private static func queries(in value: Any) -> [String] {
    switch value {
    case let members as [String: Any]:
      members.flatMap { name, value in (value as? String).map { name == "expr" ? [$0] : [] } ?? queries(in: value) }
    case let elements as [Any]: elements.flatMap(queries)
    default: []
    }
  }

  /// A quarter of an hour of a pool, minute by minute, and the alerts at its end.
  @Test(
    .timeLimit(.minutes(20)),
    arguments: [
      ("WorkerpoolDown", ["workerpool_up": "0x30"], ["workerpool_up": "1x30"]),
      (
        "WorkerpoolJobsWaitLong", ["workerpool_oldest_waiting_job_seconds{kind=\"a\"}": "1000+60x30"],
        [
          "workerpool_oldest_waiting_job_seconds{kind=\"a\"}": "1000+60x30", "workerpool_paused": "1x30",
        ]
      ),
      (
        "WorkerpoolJobsDead", ["workerpool_jobs{state=\"dead\"}": "0x20 3x10"],
        ["workerpool_jobs{state=\"dead\"}": "3x30"]
      ),
      (
        "WorkerpoolAttemptsFail",
        [
          "workerpool_attempts_total{kind=\"a\",outcome=\"done\"}": "0+1x40",
          "workerpool_attempts_total{kind=\"a\",outcome=\"failed\"}": "0+2x40",
        ],
        [
          "workerpool_attempts_total{kind=\"a\",outcome=\"done\"}": "0+2x40",
          "workerpool_attempts_total{kind=\"a\",outcome=\"failed\"}": "0+1x40",
        ]
      ),
      (
        "WorkerpoolWorkersCrash", ["workerpool_attempts_total{kind=\"a\",outcome=\"crashed\"}": "0+1x30"],
        ["workerpool_attempts_total{kind=\"a\",outcome=\"crashed\"}": "9x30"]
      ),
      (
        "WorkerpoolPluginFailed", ["workerpool_plugin_failed{plugin=\"a\"}": "1x30"],
        ["workerpool_plugin_failed{plugin=\"a\"}": "0x30"]
      ),
      (
        "WorkerpoolStoreLocked", ["workerpool_store_locked": "1x30"],
        ["workerpool_store_locked": "1x28 0 1"]
      ),
      ("WorkerpoolLogGrows", ["workerpool_wal_bytes": "2e9x30"], ["workerpool_wal_bytes": "5e8x30"]),
      ("WorkerpoolBadFiles", ["workerpool_rejected_files": "1x30"], ["workerpool_rejected_files": "0x30"]),
    ])
  func theAlertRulesFireWhenTheyShouldAndOnlyThen(
    name: String, firing: [String: String], silent: [String: String]
  ) throws {
    let place = try TestPlace()
    try place.write(try workerpool("monitoring", "alerts").output, to: "alerts.yml")
    for (series, isFiring) in [(firing, true), (silent, false)] {
      let input = series.map { metric, values in
        let labels = "instance=\"host\",job=\"node\""
        let text =
          metric.contains("{") ? metric.replacingOccurrences(of: "{", with: "{\(labels),") : "\(metric){\(labels)}"
        return "  - series: '\(text)'\n    values: '\(values)'\n"
      }.joined()
      let file = try place.write(
        """
        rule_files: [alerts.yml]
        evaluation_interval: 1m
        tests:
        - interval: 1m
          input_series:
        \(input.split(separator: "\n").map { "  \($0)" }.joined(separator: "\n"))
          promql_expr_test:
          - expr: count(ALERTS{alertname="\(name)",alertstate="firing"}) or vector(0)
            eval_time: 30m
            exp_samples: [{value: \(isFiring ? 1 : 0)}]
        """, to: "test.yml")
      let tested = try check(place, "test", "rules", file)
      #expect(tested.code == 0, "\(name) \(isFiring ? "should fire" : "should not fire"): \(tested)")
    }
  }
}
