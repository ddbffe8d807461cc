import CoreData
import Foundation
import Testing

@testable import Jobs

/// Jobs that are unique by their parts: the pool makes a unique key of these.
@Suite struct UniquePartTests {
  private func request(_ parameters: String?, by parts: [UniquePart] = [.kind, .parameters]) -> JobRequest {
    var request = JobRequest(kind: "mail", parameters: parameters)
    request.uniqueBy = parts
    return request
  }

  private func taken(_ requests: [JobRequest]) throws -> Int {
    var count = 0
    try withStore { store, context in
      count = try store.insert(requests, into: context).count
      try context.save()
    }
    return count
  }

  @Test(arguments: JobStoreKind.allCases) func ofEqualJobsOneIsTakenUntilItIsFinished(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let mail = request(#"{"to": "a"}"#)
      let job = try #require(try store.insert([mail, mail], into: context).first)
      try context.save()
      #expect(try store.insert([mail], into: context).isEmpty)
      #expect(try Job.submit(mail, into: context) == nil)
      #expect(job.uniqueKey?.hasPrefix("by kind,parameters: ") == true && job.activeKey == job.uniqueKey)
      try job.markSucceeded(startedAt: store.now)
      try context.save()
      #expect(try Job.submit(mail, into: context) != nil)
      try context.save()
    }
  }

  @Test(arguments: [
    (#"{"a": 1, "b": [2, {"c": 3, "d": 4}]}"#, #"{ "b":[2.0,{"d":4e0,"c":3}],"a":1.000}"#, true),
    (#"{"a": 0.5}"#, #"{"a": 5e-1}"#, true), (nil, "{}", true), (#"{"a": "\u0062"}"#, #"{"a": "b"}"#, true),
    (#"{"a": [1, 2]}"#, #"{"a": [2, 1]}"#, false), (#"{"a": 1}"#, #"{"a": "1"}"#, false),
    (#"{"a": null}"#, "{}", false), (#"{"a": "é"}"#, #"{"a": "e\u0301"}"#, false),
    (#"{"a": 12345678901234567890123}"#, #"{"a": 12345678901234567890124}"#, false),
    (#"{"a": 9007199254740992}"#, #"{"a": 9007199254740993.0}"#, false),
    (#"{"a": 0.1}"#, #"{"a": 0.10000000000000000001}"#, false), (#"{"a": 1e-400}"#, #"{"a": 0}"#, false),
    (#"{"a": 1e22}"#, #"{"a": 10000000000000000000000}"#, true), (#"{"a": 1E+400}"#, #"{"a": 10.0e399}"#, true),
    (#"{"a": 9223372036854775807}"#, #"{"a": 9223372036854775807.0}"#, true),
    (#"{"a": 0}"#, #"{"a": -0.0e5}"#, true), (#"{"a": -1.50}"#, #"{"a": -15e-1}"#, true),
    (#"{"a": 1}"#, #"{"a": -1}"#, false), (#"{"a": 1}"#, #"{"a": 10}"#, false),
  ]) func parametersAreEqualAsValues(one: String?, other: String?, areEqual: Bool) throws {
    #expect(try taken([request(one), request(other)]) == (areEqual ? 1 : 2))
  }

  @Test func onlyTheNamedPartsCount() throws {
    var other = request(#"{"to": "a"}"#)
    other.queue = "slow"
    #expect(try taken([request(#"{"to": "a"}"#), other]) == 1)
    other.uniqueBy.append(.queue)
    var first = request(#"{"to": "a"}"#, by: [.queue, .parameters, .kind])
    #expect(try taken([first, other]) == 2)
    // Neither does the order of the parts, and a key is one of them.
    other.queue = first.queue
    #expect(try taken([first, other]) == 1)
    first.uniqueKey = "k"
    #expect(try taken([first, other]) == 2)
    var objects = request(nil, by: [.objects])
    objects.objects = ["x-coredata://A/B/p1", "x-coredata://A/B/p2"]
    var reversed = objects
    reversed.objects.reverse()
    #expect(try taken([objects, objects, reversed]) == 2)
  }

  @Test(arguments: JobStoreKind.allCases) func inEachPeriodOneIsTaken(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      var hourly = request(#"{"to": "a"}"#)
      hourly.uniquePeriod = 3600
      let start = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 / 3600).rounded(.up) * 3600)
      let job = try #require(try store.insert([hourly], into: context, at: start + 1800).first)
      try job.markSucceeded(startedAt: start + 1800, at: start + 1801)
      try context.save()
      #expect(try store.insert([hourly], into: context, at: start + 3599).isEmpty, "finished, and in the same hour")
      #expect(try store.insert([hourly], into: context, at: start + 3600).count == 1)
      try context.save()
      // An unfinished job of an earlier hour does not count.
      #expect(try store.insert([hourly], into: context, at: start + 7200).count == 1)
      try context.save()
      var keyed = JobRequest(kind: "mail", uniqueKey: "k")
      keyed.uniquePeriod = 60
      #expect(try store.insert([keyed, keyed], into: context, at: start).count == 1)
      #expect(try store.insert([keyed], into: context, at: start + 60).count == 1)
    }
  }

  @Test func aNewObjectIsKnownByItsPermanentIdentifier() throws {
    try withStore { store, context in
      let note = NSEntityDescription.insertNewObject(forEntityName: "Note", into: context)
      var index = try JobRequest(kind: "index", objects: [note])
      index.uniqueBy = [.kind, .objects]
      #expect(try Job.submit(index, into: context) != nil)
      try context.save()
      #expect(try Job.submit(index, into: context) == nil)
    }
  }

  @Test func aSubmissionTellsOfTheJobThatHasTheKey() throws {
    try withStore { store, context in
      var first = request(#"{"to": "a"}"#)
      first.submission = "one"
      let job = try #require(try store.insert([first], into: context).first)
      try context.save()
      first.submission = "two"
      #expect(try store.insert([first], into: context).isEmpty)
      try context.save()
      let runs = try #require(try store.submissions(["two"], in: context)["two"]).runs
      #expect(runs.map(\.first) == [job.objectID.key] && runs.map(\.isNew) == [false])
    }
  }

  /// Stores keep keys of earlier versions: a new form of the key would let one more job through.
  @Test func theKeyStaysAsItIs() throws {
    try withStore { _, context in
      let keyed = try request(#"{"b": 1.0, "a": "x"}"#).keyed(at: Date(), in: context)
      #expect(keyed.uniqueKey == "by kind,parameters: 4536665330277b64c9ecf2a9c06140fce134eac26364614e4c323b7cdc07fe0f")
      #expect(keyed.uniqueBy.isEmpty && keyed.parameters == #"{"b": 1.0, "a": "x"}"#)
    }
  }
}
