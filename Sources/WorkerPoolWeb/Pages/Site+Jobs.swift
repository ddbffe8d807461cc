import Foundation
import Jobs
import PoolClient

extension Site {
  func jobs(_ filter: JobFilter, before: Int64?) throws -> Layout.Page {
    let jobReader = try openJobReader()
    noteWaits(in: jobReader)
    let page: JobReader.Page
    do {
      page = try jobReader.page(filter, before: before)
    } catch let error as ObjectQueryError {
      return refused(filter, PageError(text: "The condition cannot be used: \(error).", advice: nil), status: 400)
    } catch let error as PageError where !error.passes {
      return refused(filter, error, status: 503)
    }
    return Layout.Page(
      title: "Jobs", part: "Jobs",
      content: HTML([
        tag("h1") { "Jobs" },
        form(filter),
        tag("p", .class("quiet"), .id("count")) {
          page.count >= JobReader.countedAtMost
            ? "\(Count.number(JobReader.countedAtMost)) jobs or more" : Count.text(page.count, "job")
          before.map { ", those before p\($0)" } ?? ""
          filter.search == nil
            ? "" : "; a text is searched in the newest \(Count.number(Int(JobReader.searched))) jobs"
        },
        page.count > 0 ? bulk(filter) : .nothing,
        page.rows.isEmpty ? .nothing : chosen(),
        page.rows.isEmpty ? try nothing(filter, jobReader) : table(page.rows),
        pages(filter, before: before, next: page.next),
      ]))
  }

  /// The filter as it was filled in, and what is wrong with it.
  private func refused(_ filter: JobFilter, _ error: PageError, status: UInt32) -> Layout.Page {
    Layout.Page(
      title: "Jobs", part: "Jobs",
      content: HTML([tag("h1") { "Jobs" }, form(filter), problem(error.text, error.advice)]), isLive: false,
      status: status)
  }

  private func nothing(_ filter: JobFilter, _ jobReader: JobReader) throws -> HTML {
    let hints = filter.isEverything ? [] : try jobReader.reader.unknownNames(in: filter)
    return message((["No job fits"] + hints).joined(separator: "; "))
  }

  private func form(_ filter: JobFilter) -> HTML {
    tag("form", Attribute("method", "get"), .action(Address("jobs")), .class("filter"), .id("filter")) {
      tag("label") {
        tag("span") { "State" }
        tag("select", .name("state")) {
          tag("option", .value("")) { "all" }
          for state in StateMark.order {
            tag("option", with: [.value(state)] + (state == filter.stateName ? [Attribute("selected")] : [])) { state }
          }
        }
      }
      tag("label") {
        tag("span") { "Waits for" }
        tag("select", .name("waits-for")) {
          tag("option", .value("")) { "anything" }
          for wait in JobWait.allCases {
            tag("option", with: [.value(wait.rawValue)] + (wait == filter.wait ? [Attribute("selected")] : [])) {
              wait.title
            }
          }
        }
      }
      field("Kind", name: "kind", value: filter.kind)
      field("Queue", name: "queue", value: filter.queue)
      field("Batch", name: "batch", value: filter.batch)
      if let error = filter.error { field("Error", name: "error", value: error) }
      tag("div", .class("wide")) {
        field(
          "Search", name: "search", value: filter.search, type: "search",
          more: [Attribute("placeholder", "p17, or any text")])
      }
      tag("div", .class("wide")) {
        field(
          "Condition", name: "where", value: filter.predicate,
          more: [Attribute("placeholder", "attempt > 2 AND priority < 0")])
      }
      tag("div") { tag("button", .class("first")) { "Show" } }
    }
  }

  /// What can be done with all jobs that fit; each button first shows how many they are.
  private func bulk(_ filter: JobFilter) -> HTML {
    guard !visitor.isReadOnly, !filter.isEverything else { return .nothing }
    return tag("div", .class("actions")) {
      tag("span", .class("quiet")) { "All that fit:" }
      for change in JobChange.allCases where filter.mayMatch(change.states) {
        tag(
          "a", .class("button"),
          .href(Address(path: ["change"], query: [("do", change.rawValue)] + filter.parameters))
        ) { "\(change.title)…" }
      }
    }
  }

  /// What can be done with the jobs whose boxes are checked; the next page asks.
  private func chosen() -> HTML {
    guard !visitor.isReadOnly else { return .nothing }
    return tag(
      "form", Attribute("method", "get"), .action(Address("change")), .class("actions"), .id(Self.chosenForm)
    ) {
      tag("span", .class("quiet")) { "Those that are checked:" }
      for change in JobChange.allCases {
        tag("button", .name("do"), .value(change.rawValue), Attribute("aria-label", "\(change.title) checked jobs")) {
          "\(change.title)…"
        }
      }
    }
  }

  private static let chosenForm = "chosen"

  private func table(_ rows: [JobReader.Row]) -> HTML {
    let now = Date()
    return tag("div", .class("sheet"), Attribute("tabindex", "0")) {
      tag("table", .class("cards"), .id("jobs")) {
        tag("thead") {
          tag("tr") {
            if !visitor.isReadOnly { tag("th") { tag("span", .class("unseen")) { "Checked" } } }
            for name in ["Job", "State", "Kind", "Queue"] { tag("th") { name } }
            for name in ["Attempts", "Came", "Took"] { tag("th", .class("number")) { name } }
            tag("th") { "Last error" }
          }
        }
        tag("tbody") {
          for row in rows {
            tag("tr", .id("p\(row.key)")) {
              if !visitor.isReadOnly {
                tag("td", .class("tight check")) {
                  tag(
                    "input", .type("checkbox"), .name("job"), .value("p\(row.key)"),
                    Attribute("form", Self.chosenForm), Attribute("aria-label", "p\(row.key)"))
                }
              }
              tag("td", .class("tight")) { link("p\(row.key)", Address("jobs", "p\(row.key)")) }
              tag("td", .class("tight")) {
                StateMark.html(row.state)
                if let waits = row.waits { tag("div", .class("waits")) { waits } }
                if let progress = row.progress, row.state == "running" { self.progress(progress.done, progress.total) }
              }
              tag("td", Attribute("data-label", "kind")) { row.kind }
              tag("td", Attribute("data-label", "queue")) { row.queue }
              tag("td", .class("number"), Attribute("data-label", "attempts")) { attempts(row) }
              tag("td", .class("number"), Attribute("data-label", "came")) { When.age(row.createdAt, now: now) }
              tag("td", .class("number"), Attribute("data-label", "took")) { took(row, now) }
              tag("td", .class("error whole")) { row.error.map { String($0.prefix(160)) } ?? "" }
            }
          }
        }
      }
    }
  }

  private func attempts(_ row: JobReader.Row) -> String {
    row.crashes > 0 ? "\(row.attempts) + \(Count.text(row.crashes, "crash"))" : String(row.attempts)
  }

  private func took(_ row: JobReader.Row, _ now: Date) -> String {
    guard let started = row.startedAt else { return "" }
    if row.state == "running" { return StatusText.duration(now.timeIntervalSince(started)) }
    guard row.state == "succeeded" || row.state == "dead", let finished = row.finishedAt else { return "" }
    return StatusText.shortTime(max(0, finished.timeIntervalSince(started)))
  }

  func progress(_ done: Int64, _ total: Int64) -> HTML {
    tag("span") {
      " "
      tag(
        "progress", Attribute("max", String(total)), .value(String(done)), Attribute("aria-label", "progress"))
      " \(done) of \(total)"
    }
  }

  private func pages(_ filter: JobFilter, before: Int64?, next: Int64?) -> HTML {
    guard before != nil || next != nil else { return .nothing }
    return tag("nav", .class("actions"), Attribute("aria-label", "Pages of the list")) {
      if before != nil { tag("a", .class("button"), .href(filter.address())) { "Newest" } }
      if let next {
        tag("a", .class("button"), .href(filter.address(before: next)), Attribute("rel", "next")) { "Older" }
      }
    }
  }

  // MARK: One job

  func job(_ key: Int64) throws -> Layout.Page {
    let jobReader = try openJobReader()
    let latest = monitor.latest
    var content: HTML?
    _ = try jobReader.job(key) { job, run in content = self.story(job, run, latest.isRunning ? latest.status : nil) }
    guard let content else {
      return Layout.Page(
        title: "p\(key)", part: "Jobs",
        content: HTML([
          tag("h1") { "p\(key)" },
          problem("There is no job p\(key): it was deleted, or has never been there.", nil),
        ]), status: 404)
    }
    return Layout.Page(title: "p\(key)", part: "Jobs", content: content)
  }

  private func story(_ job: Job, _ run: JobRun?, _ status: PoolStatus?) -> HTML {
    let key = job.objectID.key ?? 0
    let state = JobText.state(job, run)
    let worker = status?.workers.first { $0.running.contains(job.objectID.uriString) }
    let answer = explanation(of: job, status, run)
    return HTML([
      tag("h1") {
        "p\(key) "
        tag("span", .class("quiet")) { job.kind }
      },
      tag("div", .class("actions")) {
        StateMark.html(state)
        actions(job, key)
      },
      tag("p") {
        tag("span", .class("quiet")) { "next: " }
        next(job, status, run, answer)
      },
      facts(job, run, worker, answer?.use),
      attempts(job, run),
      list("Objects", job.objectURIs), list("Results", job.resultURIs), list("After", job.options.after),
      block("Parameters", job.shownParameters.map(ReadableJSON.text)),
      block("Output", job.shownOutput.map(ReadableJSON.text)),
      block("Changes", changes(job)),
    ])
  }

  /// What comes next for the job, with a command only where no button does the same.
  private func next(_ job: Job, _ status: PoolStatus?, _ run: JobRun?, _ answer: StatusReply?) -> String {
    let next = JobStory.next(job, status: status, run: run, obstacle: answer?.obstacle)
    return (visitor.isReadOnly ? next.text : next.sentence).text(for: .plain)
  }

  private func actions(_ job: Job, _ key: Int64) -> HTML {
    guard !visitor.isReadOnly else { return .nothing }
    return HTML(
      JobChange.allCases.filter { $0.states.contains(job.state) }.map { change in
        if change == .delete {
          return tag("a", .class("button"), .href(Address("change", query: ["do": change.rawValue, "job": "p\(key)"])))
          {
            "Delete…"
          }
        }
        return forms.button(
          change.title, to: Address("change"), fields: [("do", change.rawValue), ("job", "p\(key)")],
          isDangerous: change == .cancel)
      })
  }

  /// What the pool says of a job that does not run. The page is worth showing without its answer.
  private func explanation(of job: Job, _ status: PoolStatus?, _ run: JobRun?) -> StatusReply? {
    guard status != nil, run == nil else { return nil }
    return try? StatusClient(queue: queue)
      .request(StatusRequest(.explain, jobs: [job.objectID.uriString]), within: 1)
  }

  private func facts(_ job: Job, _ run: JobRun?, _ worker: PoolStatus.Worker?, _ use: ResourceUse?) -> HTML {
    var rows: [(String, HTML)] = [
      ("queue", link(job.queue, Address("jobs", query: ["queue": job.queue]))),
      ("priority", HTML(String(job.priority))),
      ("attempts", HTML("\(job.attempt) ended, \(Count.text(job.crashes, "crash"))")),
      ("came", When.age(job.createdAt)),
    ]
    if let run, job.state == .available {
      rows.append(
        (
          "runs in",
          tag("span") {
            link("process \(run.pid)", Address("workers", String(run.pid)))
            " for \(StatusText.duration(Date().timeIntervalSince(run.since)))"
          }
        ))
    }
    if let done = worker?.progressDone, let total = worker?.progressTotal, total > 0 {
      rows.append(("progress", progress(Int64(done), Int64(total))))
    } else if job.progressTotal > 0 {
      rows.append(("progress", progress(job.progressDone, job.progressTotal)))
    }
    if let use { rows.append(("used", HTML(use.text))) }
    if let date = job.runAt { rows.append(("runs after", When.age(date))) }
    if let date = job.finishedAt { rows.append(("ended", When.age(date))) }
    if let batch = job.batch { rows.append(("batch", link(batch, Address("jobs", query: ["batch": batch])))) }
    if let text = job.uniqueKey { rows.append(("unique key", HTML(text))) }
    if let text = job.limitKey { rows.append(("limit key", HTML(text))) }
    if let seconds = job.timeout { rows.append(("timeout", HTML("\(StatusText.duration(seconds)) for each attempt"))) }
    if let count = job.maxAttempts { rows.append(("attempts at most", HTML(String(count)))) }
    if let batch = job.options.afterBatch { rows.append(("after batch", HTML(batch))) }
    if let checkpoint = job.checkpoint { rows.append(("checkpoint", HTML("\(checkpoint.count) bytes"))) }
    rows.append(("URI", tag("code") { job.objectID.uriString }))
    return tag("dl", .class("facts")) {
      for (name, value) in rows {
        tag("dt") { name }
        tag("dd") { value }
      }
    }
  }

  private func attempts(_ job: Job, _ run: JobRun?) -> HTML {
    HTML([
      tag("h2") { "What happened" },
      tag("ol", .class("story")) {
        for event in JobStory.events(job, run: run) {
          tag("li", .class(isFailure(event) ? "failure" : "")) {
            tag("span", .class("when")) { When.moment(event.date, isExact: true) }
            content(event)
          }
        }
      },
    ])
  }

  private func isFailure(_ event: JobStory.Event) -> Bool {
    if case .failed = event.what { true } else { false }
  }

  private func content(_ event: JobStory.Event) -> HTML {
    switch event.what {
    case .came: return HTML("came into the store")
    case .began: return HTML("the last finished attempt began")
    case .runs(let pid): return HTML("began to run in process \(pid)")
    case .ended(let state): return StateMark.html(state.name)
    case .failed(let failure):
      let output = failure.standardErrorBesideMessage
      return HTML([
        tag("strong") { "attempt \(failure.attempt): \(failure.type)" },
        tag("pre", Attribute("tabindex", "0")) { failure.message },
        failure.pid > 0 ? tag("span", .class("quiet")) { "process \(failure.pid) on \(failure.host)" } : .nothing,
        output.isEmpty
          ? .nothing
          : tag("pre", Attribute("aria-label", "standard error"), Attribute("tabindex", "0")) {
            output.joined(separator: "\n")
          },
        failure.stack.isEmpty
          ? .nothing
          : HTML([
            tag("span", .class("quiet")) { "where it was" },
            tag("pre", Attribute("aria-label", "stack"), Attribute("tabindex", "0")) {
              failure.stack.joined(separator: "\n")
            },
          ]),
      ])
    }
  }

  /// What the pool has kept of the job's changes. The page is worth showing without them.
  private func changes(_ job: Job) -> String? {
    guard let changes = try? JobEffects(job), !changes.saves.isEmpty else { return nil }
    return changes.lines(kind: job.kind).joined(separator: "\n")
  }

  private func list(_ title: String, _ uris: [String]) -> HTML {
    guard !uris.isEmpty else { return .nothing }
    let shown = 50
    let more = uris.count > shown ? "\n… and \(uris.count - shown) more" : ""
    return block("\(title) (\(uris.count))", uris.prefix(shown).joined(separator: "\n") + more)
  }

  private func block(_ title: String, _ text: String?) -> HTML {
    guard let text, !text.isEmpty else { return .nothing }
    return HTML([tag("h2") { title }, tag("pre", Attribute("tabindex", "0")) { text }])
  }
}
