import Foundation
import Jobs
import PoolClient

extension Site {
  func jobs(_ list: JobList) throws -> Layout.Page {
    let filter = list.filter
    let jobReader = try openJobReader()
    noteWaits(in: jobReader)
    let page: JobReader.Page
    do {
      page = try jobReader.page(list)
    } catch let error as ObjectQueryError {
      return refused(list, PageError(text: "The condition cannot be used: \(error).", advice: nil), status: 400)
    } catch let error as PageError where !error.passes {
      return refused(list, error, status: 503)
    }
    return Layout.Page(
      title: "Jobs", part: "Jobs",
      content: HTML([
        tag("h1") { "Jobs" },
        form(list),
        tag("p", .class("quiet"), .id("count")) {
          page.count >= JobReader.countedAtMost
            ? "\(Count.number(JobReader.countedAtMost)) jobs or more" : Count.text(page.count, "job")
          list.before.map { ", those before p\($0)" } ?? ""
          list.skipped > 0 ? ", those after the first \(Count.number(list.skipped))" : ""
          bounds(of: list)
        },
        recent(list, now: Date()),
        page.count > 0 ? bulk(list) : .nothing,
        page.rows.isEmpty ? .nothing : chosen(),
        page.rows.isEmpty ? try nothing(filter, jobReader) : table(page.rows, list),
        pages(list, next: page.next),
      ]))
  }

  /// Which jobs a change of all that fit means, where the list shows only a part of them, or searches one; nil for all.
  func scope(of list: JobList) -> String? {
    let newest = "the newest \(Count.number(Int(JobReader.searched))) jobs"
    if list.filter.search != nil { return "A text is searched in \(newest): others are not meant." }
    return list.hasIndex
      ? nil : "All jobs that fit are meant, also those that the list does not show, since it sorts only \(newest)."
  }

  /// What has no index is looked for in a part of the jobs, so that the page is quick however many there are.
  private func bounds(of list: JobList) -> String {
    let part = "the newest \(Count.number(Int(JobReader.searched))) jobs"
    switch (list.filter.search != nil, !list.hasIndex) {
    case (true, _): return "; a text is searched in \(part)"
    case (_, true): return "; sorted are \(part)"
    default: return ""
    }
  }

  /// The filter as it was filled in, and what is wrong with it.
  private func refused(_ list: JobList, _ error: PageError, status: UInt32) -> Layout.Page {
    Layout.Page(
      title: "Jobs", part: "Jobs",
      content: HTML([tag("h1") { "Jobs" }, form(list), problem(error.text, error.advice)]), isLive: false,
      status: status)
  }

  private func nothing(_ filter: JobFilter, _ jobReader: JobReader) throws -> HTML {
    let hints = filter.isEverything ? [] : try jobReader.reader.unknownNames(in: filter)
    return message((["No job fits"] + hints).joined(separator: "; "))
  }

  /// What can be done with all jobs that fit, whatever part of them is listed; each button first shows which and how
  /// many they are.
  private func bulk(_ list: JobList) -> HTML {
    let filter = list.filter
    guard !visitor.isReadOnly, !filter.isEverything else { return .nothing }
    return tag("div", .class("actions")) {
      tag("span", .class("quiet")) { "All that fit:" }
      for change in JobChange.allCases where filter.mayMatch(change.states) {
        tag(
          "a", .class("button"),
          .href(Address(path: ["change"], query: [("do", change.rawValue)] + filter.parameters + list.orderParameters))
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

  private func table(_ rows: [JobReader.Row], _ list: JobList) -> HTML {
    let now = Date()
    return tag("div", .class("sheet"), Attribute("tabindex", "0")) {
      tag("table", .class("cards"), .id("jobs")) {
        tag("thead") {
          tag("tr") {
            if !visitor.isReadOnly { tag("th") { tag("span", .class("unseen")) { "Checked" } } }
            for name in ["Job", "State", "Kind", "Queue"] { tag("th") { name } }
            heading("Attempts", sorts: .attempts, list)
            heading("Came", sorts: list.order == .newest ? .oldest : .newest, list)
            heading("Ended", sorts: .finished, list)
            tag("th", .class("number")) { "Took" }
            for name in ["Parameters", "Last error"] { tag("th") { name } }
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
              tag("td", Attribute("data-label", "kind")) {
                row.kind
                tags(row.tags)
              }
              tag("td", Attribute("data-label", "queue")) { row.queue }
              tag("td", .class("number"), Attribute("data-label", "attempts")) { attempts(row) }
              tag("td", .class("number"), Attribute("data-label", "came")) { When.age(row.createdAt, now: now) }
              tag("td", .class("number"), Attribute("data-label", "ended")) {
                row.finishedAt.map { When.age($0, now: now) } ?? .nothing
              }
              tag("td", .class("number"), Attribute("data-label", "took")) { took(row, now) }
              tag("td", .class("parameters whole")) {
                if let parameters = row.parameters { tag("code") { parameters } }
              }
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

  private func pages(_ list: JobList, next: JobList?) -> HTML {
    guard !list.isFirstPage || next != nil else { return .nothing }
    let isByArrival = list.order == .newest
    return tag("nav", .class("actions"), Attribute("aria-label", "Pages of the list")) {
      if !list.isFirstPage {
        tag("a", .class("button"), .href(JobList(filter: list.filter, order: list.order).address)) {
          isByArrival ? "Newest" : "First"
        }
      }
      if let next {
        tag("a", .class("button"), .href(next.address), Attribute("rel", "next")) { isByArrival ? "Older" : "Next" }
      }
    }
  }

  /// The heading of a column by which the list can be sorted: a link, and a mark where it is sorted so. Another click
  /// leads back to the newest.
  private func heading(_ name: String, sorts order: JobOrder, _ list: JobList) -> HTML {
    let isOfArrival = order == .newest || order == .oldest
    let isSorted = isOfArrival ? [.newest, .oldest].contains(list.order) : list.order == order
    let isAscending = list.order == .oldest
    return tag(
      "th",
      with: [.class("number")] + (isSorted ? [Attribute("aria-sort", isAscending ? "ascending" : "descending")] : [])
    ) {
      if list.filter.error == nil {
        link(name, JobList(filter: list.filter, order: isSorted && !isOfArrival ? .newest : order).address)
      } else {
        name
      }
    }
  }

  /// Links to the jobs with the same tags.
  func tags(_ tags: [String]) -> HTML {
    guard !tags.isEmpty else { return .nothing }
    return tag("div", .class("tags")) {
      for name in tags { link(name, Address("jobs", query: ["tag": name])) }
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
    if !job.tags.isEmpty { rows.append(("tags", tags(job.tags))) }
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
