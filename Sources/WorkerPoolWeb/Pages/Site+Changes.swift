import Foundation
import Jobs
import PoolClient

extension Site {
  /// Does what a form asks for. ``Access`` has found it to be a form of this server.
  func change(_ request: HTTPRequest) -> HTTPResponse {
    let form = request.form
    do {
      switch request.path {
      case "/pause": return try pause(.pause, form)
      case "/resume": return try pause(.resume, form)
      case "/scale": return try scale(form)
      case "/run": return try run(entry: form["entry"] ?? "")
      case "/change":
        guard let change = form["do"].flatMap(JobChange.init) else { break }
        return try self.change(change, form)
      default: break
      }
      return HTTPResponse(404, Layout.plain(title: "workerpool", text: "There is nothing to be done at this address."))
    } catch {
      let page = Layout.Page(
        title: "Not done", part: "",
        content: HTML([
          tag("h1") { "Not done" },
          problem("\((error as? PageError)?.text ?? ErrorText.text(error))", (error as? PageError)?.advice),
        ]), isLive: false, status: error is PageError ? 400 : 502)
      return HTTPResponse(page.status, frame(page))
    }
  }

  /// Seconds that the pool gets to do something.
  private static let timeout = 10.0

  /// Sends a request to the pool.
  private func send(_ request: StatusRequest) throws -> StatusReply {
    let reply = try StatusClient(queue: queue, webUser: visitor.loggedName).request(request, within: Self.timeout)
    guard reply.ok else { throw PageError(text: reply.error ?? "The pool refused without a reason.", advice: nil) }
    monitor.askNow()
    return reply
  }

  private func pause(_ command: StatusRequest.Command, _ form: Parameters) throws -> HTTPResponse {
    let (queue, kind) = (form["queue"], form["kind"])
    for name in [queue, kind].compactMap(\.self) where !JobRequest.isName(name) {
      throw PageError(text: "\(name) cannot be the name of a queue or a kind.", advice: nil)
    }
    _ = try send(StatusRequest(command, queue: queue, kind: kind))
    let what = queue.map { "Queue \($0)" } ?? kind.map { "Kind \($0)" } ?? "The whole pool"
    return done(
      command == .pause ? "\(what) pauses; what runs goes on." : "\(what) goes on.", [kind == nil ? "queues" : "kinds"])
  }

  private func scale(_ form: Parameters) throws -> HTTPResponse {
    guard let count = form["count"].flatMap(Int.init), (0...1000).contains(count) else {
      throw PageError(text: "The number of workers must be a whole number from 0 to 1000.", advice: nil)
    }
    _ = try send(StatusRequest(.scale, plugin: form["plugin"], count: count))
    return done("The pool is told to keep \(count) workers\(form["plugin"].map { " of \($0)" } ?? "").", ["workers"])
  }

  // MARK: Jobs

  /// Shows which jobs a change would touch, and asks.
  func preview(_ change: JobChange, _ query: Parameters) throws -> Layout.Page {
    guard !visitor.isReadOnly else { throw PageError.forbidden(access.readOnlyText) }
    let (byState, fields, back) = try chosen(change, query)
    let count = byState.reduce(0) { $0 + $1.1 }
    let filter = JobFilter(query)
    // Jobs that are named are these and no others.
    let scope = query.all("job").isEmpty ? scope(of: JobList(filter: filter, order: JobList(query).order)) : nil
    guard count > 0 else {
      return Layout.Page(
        title: change.title, part: "Jobs",
        content: HTML([
          tag("h1") { "\(change.title) jobs" },
          message(
            "None of the jobs can be changed so: \(change.rawValue) is for jobs that are "
              + change.states.map(\.name).joined(separator: ", ") + "."),
          tag("p") { tag("a", .class("button"), .href(back)) { "Back" } },
        ]), isLive: false)
    }
    return Layout.Page(
      title: change.title, part: "Jobs",
      content: HTML([
        tag("h1") { "\(change.title) \(Count.text(count, "job"))?" },
        tag("ul") {
          for (state, count) in byState {
            tag("li") {
              "\(Count.number(count)) "
              StateMark.html(state.name)
            }
          }
        },
        filter.isEverything
          ? .nothing
          : tag("p", .class("quiet")) {
            filter.parameters.compactMap { name, value in value.map { "\(name): \($0)" } }.joined(separator: ", ")
          },
        scope.map { text in tag("p", .class("quiet")) { text } } ?? .nothing,
        change == .delete
          ? tag("p") { "Deleted jobs are gone for good. Jobs that unfinished ones wait for stay." } : .nothing,
        tag("div", .class("actions")) {
          forms.form(to: Address("change"), fields: fields + [("do", change.rawValue), ("confirmed", "yes")]) {
            tag("button", .class(change == .retry ? "first" : "danger")) {
              "\(change.title) \(Count.text(count, "job"))"
            }
          }
          tag("a", .class("button"), .href(back)) { "Back" }
        },
      ]), isLive: false)
  }

  private func change(_ change: JobChange, _ form: Parameters) throws -> HTTPResponse {
    let jobReader = try openJobReader()
    if let key = form["job"].flatMap({ ObjectURI.key(name: $0) }), form.all("job").count == 1 {
      let result = try change.carryOut(
        on: jobReader.reader.jobURIs.texts([key]), by: StatusClient(queue: queue, webUser: visitor.loggedName),
        within: Self.timeout)
      if let refusal = result.refusal { throw PageError(text: refusal, advice: nil) }
      monitor.askNow()
      guard result.done > 0 else {
        return done("p\(key) is left alone: it runs, is awaited, or is in another state by now.", ["jobs", "p\(key)"])
      }
      return done("p\(key) \(change.done).", change == .delete ? ["jobs"] : ["jobs", "p\(key)"])
    }
    let checked = checkedJobs(form)
    if !checked.isEmpty, form["confirmed"] == "yes" {
      let result = try change.carryOut(
        on: jobReader.reader.jobURIs.texts(checked), by: StatusClient(queue: queue, webUser: visitor.loggedName),
        within: Self.timeout)
      if let refusal = result.refusal { throw PageError(text: refusal, advice: nil) }
      monitor.askNow()
      return done("\(result.done) of \(Count.text(result.jobs, "job")) \(change.done).", ["jobs"])
    }
    guard form["confirmed"] == "yes" else {
      throw PageError(text: "Nothing is changed: the form does not say that all these jobs are meant.", advice: nil)
    }
    let (byState, _, _) = try chosen(change, form)
    let latest = monitor.latest
    let number = changes.start(
      change, JobFilter(form), count: byState.reduce(0) { $0 + $1.1 }, store: jobReader.path,
      status: latest.isRunning ? latest.status : nil, for: visitor
    ) { [monitor] in monitor.askNow() }
    guard let number else {
      throw PageError(
        text: "\(JobChanges.mostAtOnce) other changes go on; wait until one of them is over.", advice: nil)
    }
    return HTTPResponse(
      seeOther: Address(path: ["jobs"], query: JobFilter(form).parameters + [("change", String(number))]))
  }

  /// The keys of the jobs whose boxes are checked.
  private func checkedJobs(_ parameters: Parameters) -> [JobKey] {
    var keys: Set<JobKey> = []
    return parameters.all("job").compactMap { ObjectURI.key(name: $0) }.filter { keys.insert($0).inserted }
  }

  /// How many jobs of a change are in each state, the fields that name them, and the way back.
  private func chosen(_ change: JobChange, _ parameters: Parameters) throws -> (
    byState: [(JobState, Int)], fields: [(String, String?)], back: Address
  ) {
    let jobReader = try openJobReader()
    if let key = parameters["job"].flatMap({ ObjectURI.key(name: $0) }), parameters.all("job").count == 1 {
      var state: JobState?
      _ = try jobReader.job(key) { job, _ in state = job.state }
      let fits = state.map(change.states.contains) ?? false
      return (fits ? [(state ?? .dead, 1)] : [], [("job", "p\(key)")], Address("jobs", "p\(key)"))
    }
    let checked = checkedJobs(parameters)
    if !checked.isEmpty {
      var counts: [JobState: Int] = [:]
      for key in checked {
        _ = try jobReader.job(key) { job, _ in
          if change.states.contains(job.state) { counts[job.state, default: 0] += 1 }
        }
      }
      return (
        counts.map { ($0, $1) }.sorted { $0.0.rawValue < $1.0.rawValue }, checked.map { ("job", "p\($0)") },
        Address("jobs")
      )
    }
    let filter = JobFilter(parameters)
    guard !filter.isEverything else {
      throw PageError(text: "Check jobs, or choose them by a filter first.", advice: nil)
    }
    if filter.wait != nil { noteWaits(in: jobReader) }
    return (
      try jobReader.counts(filter, for: change), filter.parameters,
      JobList(filter: filter, order: JobList(parameters).order).address
    )
  }
}
