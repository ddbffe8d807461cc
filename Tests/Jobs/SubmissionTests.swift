import CoreData
import Foundation
import Testing

@testable import Jobs

/// Submissions that carry a token.
@Suite struct SubmissionTests {
  private func requests(_ keys: [String?], token: String?) -> [JobRequest] {
    var requests = keys.map { JobRequest(kind: "a", uniqueKey: $0) }
    requests[0].submission = token
    return requests
  }

  @Test(arguments: JobStoreKind.allCases) func aTokenThatIsKnownAddsNothing(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      // Given a submission in the store, and one in the same transaction
      #expect(try store.insert(requests([nil, nil], token: "one"), into: context).count == 2)
      #expect(try store.insert(requests([nil], token: "one"), into: context).isEmpty)
      try context.save()
      // When it comes again, in a transaction of its own
      context.reset()
      #expect(try store.insert(requests([nil, nil], token: "one"), into: context).isEmpty)
      try context.save()
      // Then there are the jobs of the first time, and the note tells them
      let keys = try context.fetch(Job.fetchRequest()).compactMap(\.objectID.key).sorted()
      #expect(keys.count == 2)
      #expect(try store.submissions(["one", "two"], in: context).mapValues(\.keys) == ["one": keys])
    }
  }

  @Test(arguments: JobStoreKind.allCases) func theNoteTellsTheJobThatHasTheUniqueKey(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let holder = try #require(try store.insert(requests(["taken"], token: nil), into: context).first)
      try context.save()
      let jobs = try store.insert(requests(["new", "taken", "new", nil], token: "one"), into: context)
      try context.save()
      let keys = jobs.compactMap(\.objectID.key)
      #expect(keys.count == 2)
      let found = try #require(try store.submissions(["one"], in: context)["one"])
      #expect(found.keys == [keys[0], try #require(holder.objectID.key), keys[0], keys[1]])
      #expect(found.runs.map(\.isNew) == [true, false, true] || found.runs.map(\.isNew) == [true, false, false, true])
    }
  }

  @Test(arguments: JobStoreKind.allCases)
  func tokensAreForgottenWithTheJobsButNotWithinADay(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let now = Date()
      for (token, age) in [("old", 200_000.0), ("yesterday", 80_000), ("new", 10)] {
        _ = try store.insert(requests([nil], token: token), into: context, at: now - age)
      }
      try context.save()
      #expect(try store.forgetSubmissions(JobRetention(finished: nil), at: now, in: context) == 0)
      #expect(try store.forgetSubmissions(JobRetention(finished: 0), at: now, in: context) == 1)
      try context.save()
      #expect(try Set(store.submissions(["old", "yesterday", "new"], in: context).keys) == ["yesterday", "new"])
    }
  }

  @Test func runsKeepTheOrder() {
    var jobs = SubmittedJobs()
    for key: Int64 in [3, 4, 5, 9, 2] { jobs.append(key, isNew: true) }
    jobs.append(10, isNew: false)
    jobs.append(11, isNew: false)
    #expect(jobs.keys == [3, 4, 5, 9, 2, 10, 11])
    #expect(jobs.runs.map(\.count) == [3, 1, 1, 2])
    #expect(jobs.count == 7)
  }

  @Test(arguments: [
    (#"{"kind": "a", "submission": "a b"}"#, "\"submission\" must be a name"),
    ("{\"kind\": \"a\"}\n{\"kind\": \"a\", \"submission\": \"b\"}", "belongs on its first line"),
    (#"{"kind": "a", "submision": "b"}"#, "did you mean \"submission\"?"),
  ])
  func aTokenThatIsNoneIsRefused(text: String, message: String) {
    let error = #expect(throws: JobFileError.self) { try JobFile.parse(Array(text.utf8)) }
    #expect(error?.description.contains(message) == true, "\(String(describing: error))")
  }
}
