import CoreData
import Foundation
import Testing

@testable import Jobs

/// Tags, by which people find and count jobs.
@Suite struct TagTests {
  @Test(arguments: JobStoreKind.allCases) func aTagFindsTheJobsThatHaveItAndNoOthers(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      // Given jobs with tags in each place of the list, and jobs that have the same words elsewhere
      let tagged = [["a"], ["a", "b"], ["b", "a"], ["b", "a", "c"], ["ab", "customer:17", "très *?%_ cher"]]
      var requests = tagged.map { tags in request { $0.options.tags = tags } }
      requests.append(request { $0.options.afterBatch = "a" })
      requests.append(
        request {
          $0.options.afterBatch = #"["a"]"#
          $0.options.tags = ["b"]
        })
      requests.append(request { $0.batch = "a" })
      let jobs = try store.insert(requests, into: context)
      try context.save()
      func found(_ tag: String?) throws -> [Int] {
        let fetch = Job.fetchRequest()
        fetch.predicate = JobOptions.predicate(tag: tag)
        fetch.sortDescriptors = [NSSortDescriptor(key: "objectID", ascending: true)]
        return try context.fetch(fetch).map { try #require(jobs.firstIndex(of: $0)) }
      }
      // Then
      #expect(try found("a") == [0, 1, 2, 3] && found("b") == [1, 2, 3, 6] && found("c") == [3])
      #expect(try found("customer:17") == [4] && found("très *?%_ cher") == [4])
      #expect(try found("A").isEmpty && found("tags").isEmpty && found(",").isEmpty)
      #expect(try found(nil) == [0, 1, 2, 3, 4, 6])
      #expect(jobs[3].tags == ["b", "a", "c"] && jobs[5].tags.isEmpty)
    }
  }

  @Test func aTagHasNoCharacterThatControlsATerminalOrTheDirectionOfText() {
    for tag in ["a", "très cher", "日本", String(repeating: "a", count: 100)] { #expect(JobOptions.isTag(tag)) }
    let wrong = ["", "a,b", "a\"b", "a\\b", "a\u{7F}", "a\u{85}b", "a\u{202E}b", String(repeating: "é", count: 51)]
    for tag in wrong { #expect(!JobOptions.isTag(tag), "\(tag.debugDescription)") }
  }

  @Test(arguments: JobStoreKind.allCases) func aTimeOfArrivalBecomesAKey(kind: JobStoreKind) throws {
    try withStore(kind) { store, context in
      let start = Date.thisSecond
      func key(_ seconds: Double) throws -> Int64 {
        try JobStore.key(cameAt: start + seconds, in: context) { store.objectID(job: $0) }
      }
      #expect(try key(0) == 1)
      // Given jobs that came ten seconds apart, of which some are deleted
      var keys: [Int64] = []
      for number in 0..<20 {
        let job = try #require(
          try store.insert([JobRequest(kind: "a")], into: context, at: start + 10 * Double(number)).first)
        try context.save()
        keys.append(job.objectID.key ?? 0)
        if number % 3 == 1 { context.delete(job) }
      }
      try context.save()
      // Then
      #expect(try key(-5) <= keys[0] && key(0) <= keys[0])
      // A server may leave keys out.
      #expect(try (keys[2] + 1...keys[3]).contains(key(25)) && (keys[2] + 1...keys[3]).contains(key(30)))
      // The job at 40 s is deleted.
      #expect(try (keys[3] + 1...keys[5]).contains(key(35)))
      #expect(try key(1000) > keys[18])
    }
  }
}
