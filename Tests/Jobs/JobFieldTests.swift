import CoreData
import Foundation
import Testing

@testable import Jobs

/// A job's fields stand in one table. What is added somewhere else and not there is seen here, and the other way round.
@Suite struct JobFieldTests {
  /// A request that says something else than the default in each of its properties.
  private static func fullRequest() -> JobRequest {
    var request = JobRequest(
      kind: "index", objects: ["x-coredata://A/B/p1"], parameters: #"{"a":1}"#, priority: 4, queue: "slow",
      runAt: Date(timeIntervalSince1970: 4_000_000_000), uniqueKey: "k", maxAttempts: 7, timeout: 1.5)
    request.label = "one"
    request.submission = "token"
    request.batch = "night"
    request.limitKey = "disk"
    request.options.uniqueFor = 60
    request.uniqueBy = [.kind, .objects]
    request.uniquePeriod = 3600
    request.options.backoff = 2
    request.options.maxBackoff = 30
    request.options.limit = 3
    request.options.after = ["x-coredata://A/PoolJob/p1"]
    request.options.afterBatch = "day"
    request.options.whenFailed = .run
    request.options.tags = ["customer:17", "spring sale"]
    return request
  }

  private static func properties(_ value: Any) -> [String: String] {
    Dictionary(Mirror(reflecting: value).children.map { ($0.label ?? "", "\($0.value)") }, uniquingKeysWith: { $1 })
  }

  @Test func everyPropertyOfARequestIsAField() throws {
    // Given: a request of which each property is set, which a new property is not before it is added above.
    let full = Self.fullRequest()
    for (full, plain) in [
      (Self.properties(full), Self.properties(JobRequest(kind: ""))),
      (Self.properties(full.options), Self.properties(JobOptions())),
    ] {
      #expect(full.count > 5 && full.count == plain.count)
      for (name, value) in full { #expect(value != plain[name], "\(name) is not set in this test") }
    }

    // When: it is written as a line of a job file and read again. Then: nothing is lost.
    for exclusive in [\JobRequest.options.uniqueFor, \JobRequest.uniquePeriod] {
      var request = full
      request[keyPath: exclusive] = nil
      #expect(try JobFile.parse(Array(JobFile.text([request]).utf8)) == [request])
    }
    #expect(JobField.asked.allSatisfy { $0.isAsked(in: full) })
    #expect(JobField.asked.filter { $0.isAsked(in: JobRequest(kind: "a")) }.map(\.name) == ["kind"])
  }

  @Test func everyAttributeOfAJobIsAField() throws {
    let entity = try #require(JobModel.make().entitiesByName[PoolJob.entityName])
    let attributes = JobField.all.compactMap(\.attribute)
    #expect(attributes.sorted() == entity.attributesByName.keys.sorted())
    #expect(Set(JobField.all.map(\.name)).count == JobField.all.count)
    // What is read with many jobs has a bound.
    let long = Set(attributes).subtracting(PoolJob.shortAttributes)
    #expect(long == ["objects", "parameters", "checkpoint", "results", "output", "errors"])
    // The row does not say that a job runs, the unique key is shown once, and claims are the pools' own business.
    let hidden = JobField.all.filter { $0.attribute != nil && $0.show == nil }.compactMap(\.attribute)
    #expect(hidden == ["activeKey", "claimant", "hostDeaths", "state"])
  }

  @Test(arguments: JobStoreKind.allCases) func everyFieldOfARequestComesIntoTheRow(kind: JobStoreKind) throws {
    try withStore(kind) { _, context in
      var full = Self.fullRequest()
      // The row gets one key of these.
      (full.uniqueBy, full.uniquePeriod) = ([], nil)
      try PoolJob.insert(full, into: context)
      try context.save()
      context.reset()
      let job = try #require(try context.fetch(PoolJob.fetchRequest()).first)
      var passing: [String] = []
      for field in JobField.asked {
        guard let wanted = try field.request?.write(full) else { continue }
        if let show = field.show {
          #expect(show(job) == wanted, "\(field.name)")
        } else if field.optionsMember != nil {
          #expect(job.options.json[field.name] == wanted, "\(field.name)")
        } else {
          passing.append(field.name)
        }
      }
      #expect(passing == ["label", "submission"])
      #expect(job.options == full.options && job.activeKey == "k" && job.state == .pending)
    }
  }

  @Test func aPlainRequestLeavesTheRowAtItsDefaults() throws {
    try withStore { _, context in
      let job = try PoolJob.insert(JobRequest(kind: "a"), into: context)
      #expect(Set(job.changedValues().keys).isSubset(of: ["kind", "createdAt"]), "\(job.changedValues().keys)")
      #expect(job.queue == "default" && job.priority == 0 && job.state == .available && job.options == JobOptions())
    }
  }

  @Test func everyFieldOfARequestHasAnOptionOrOneOfItsOwn() {
    // The kind and objects are operands, parameters have --parameters and --set; the rest fits files of several jobs.
    let without = JobField.asked.filter { $0.option == nil }.map(\.name)
    #expect(without == ["kind", "objects", "parameters", "label", "submission"])
    let names = JobField.asked.filter { $0.option != nil }.map(\.optionName)
    #expect(names.contains("max-attempts") && names.contains("job-queue") && names.contains("run-at"))
    #expect(Set(names).count == names.count)
  }

  @Test(arguments: [
    ("priority", "12", nil), ("priority", "x", "\"priority\" must be a whole number from -32768 to 32767"),
    ("maxAttempts", "0", "\"maxAttempts\" must be a whole number from 1 to 1000"),
    ("timeout", "1e9", "\"timeout\" must be a number of seconds above 0 and at most 2592000"), ("timeout", ".5", nil),
    ("priority", "+5", nil),
    ("runAt", "tomorrow", "\"runAt\" must be a time such as"), ("queue", "a b", "\"queue\" must be a name"),
    ("whenFailed", "run", nil), ("tags", "spring sale", nil),
    ("tags", "a,b", "\"tags\" must be an array of tags, each 1 to 100 bytes"),
    ("whenFailed", "no", "\"whenFailed\" must be \"wait\", \"cancel\" or \"run\""),
    ("unique", "17", nil), ("uniqueBy", "kind,parameters", nil),
    ("uniqueBy", "kind,args", "\"uniqueBy\" must be an array of some of \"kind\", \"queue\""),
  ]) func anOptionIsReadAsTheMemberOfAJobFileIs(name: String, text: String, problem: String?) throws {
    let field = try #require(JobField.asked.first { $0.name == name })
    var request = JobRequest(kind: "a")
    do {
      try field.read(arguments: [text], into: &request)
      #expect(problem == nil && field.isAsked(in: request))
    } catch {
      #expect(problem.map(error.description.hasPrefix) == true, "\(error)")
      #expect(request == JobRequest(kind: "a"))
    }
  }

  @Test func whatFitsOneJobOnlyIsNotForPeriodicOnes() {
    let names = JobField.asked.filter { $0.request?.isForPeriodicJobs == false }.map(\.name)
    #expect(names == ["runAt", "label", "after", "submission"])
  }

  /// Rows that other programs wrote are read as far as they can be.
  @Test func optionsOfARowAreReadWithoutTheLimitsOfAFile() {
    let options = JobOptions(text: #"{"backoff":0,"limit":"x","whenFailed":"never","after":["b c"],"of later":1}"#)
    #expect(options.backoff == 0 && options.limit == nil && options.whenFailed == .wait && options.after == ["b c"])
    #expect(JobOptions(text: "[]") == JobOptions() && JobOptions(text: "{") == JobOptions())
  }

  // MARK: Documents

  private static func document(_ path: String) throws -> String {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    return try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }

  @Test func everyFieldOfARequestIsInTheManualsTable() throws {
    let manual = try Self.document("Sources/WorkerPool/WorkerPool.docc/SubmittingJobs.md")
    let rows = manual.split(separator: "\n").filter { $0.hasPrefix("| `") }
    for field in JobField.asked { #expect(rows.contains { $0.contains("`\(field.name)`") }, "\(field.name)") }
  }

  @Test func everyAttributeIsInTheProtocolsTable() throws {
    let page = try Self.document("Protocol/PROTOCOL.md")
    let start = try #require(page.range(of: "## The job's row"))
    let rows = page[start.upperBound...].split(separator: "\n").filter { $0.hasPrefix("| `Z") }
    for attribute in JobField.all.compactMap(\.attribute) {
      #expect(rows.contains { $0.contains("`Z\(attribute.uppercased())`") }, "\(attribute)")
    }
  }
}
