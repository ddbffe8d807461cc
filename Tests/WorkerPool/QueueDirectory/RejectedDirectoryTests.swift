import Foundation
import Testing

@testable import WorkerPool

/// `rejected/` may get very many files, of one name too.
@Suite struct RejectedDirectoryTests {
  /// With a look at each name that is taken already this needs 100 million system calls: more than 20 s of a processor.
  @Test func tenThousandBadFilesOfOneNameStayQuickAndTheOldestGo() throws {
    let place = try IntakePlace()
    defer { place.remove() }
    let rejected = try RejectedDirectory(layout: place.layout)
    let incoming = try OpenDirectory(place.layout.incoming)
    let start = Self.processorSeconds
    for _ in 0..<10_000 {
      close(openat(incoming.descriptor, "bad.json", O_WRONLY | O_CREAT, 0o600))
      try rejected.reject(Array("bad.json".utf8CString), in: incoming, as: "bad.json", reason: "no good")
    }
    let used = Self.processorSeconds - start
    #expect(used < 20, "\(used)")
    #expect(try rejected.count() == 10_000)
    #expect(place.reason("bad.json.9999") == "bad.json: no good\n")

    let reason = place.layout.rejected + "/bad.json.17.error"
    try FileManager.default.setAttributes([.modificationDate: Date() - 60], ofItemAtPath: reason)
    try rejected.prune(olderThan: nil, keeping: 9_999)
    #expect(try rejected.count() == 9_999)
    #expect(place.reason("bad.json.17").isEmpty)
    try rejected.prune(olderThan: nil, keeping: 100)
    #expect(place.rejected.count == 200)
  }

  /// What this thread has used of a processor.
  private static var processorSeconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  @Test func badFilesGoWithTheirReasonsWhenTheyAreOld() throws {
    let place = try IntakePlace()
    defer { place.remove() }
    let rejected = try RejectedDirectory(layout: place.layout)
    let incoming = try OpenDirectory(place.layout.incoming)
    for name in ["old.json", "new.json", "odd.error"] {
      // When it was written says nothing about when it was rejected.
      try place.put("no", name)
      try place.age(name)
      try rejected.reject(Array(name.utf8CString), in: incoming, as: name, reason: "no good")
    }
    #expect(mkdir(place.layout.rejected + "/directory", 0o700) == 0)
    #expect(mkdir(place.layout.rejected + "/directory/full", 0o700) == 0)
    let path = place.layout.rejected + "/"
    for name in ["old.json.error", "odd.error.error"] {
      try FileManager.default.setAttributes([.modificationDate: Date() - 60], ofItemAtPath: path + name)
    }
    try rejected.prune(olderThan: 30)
    #expect(place.rejected == ["directory", "new.json", "new.json.error"])
    try rejected.prune(olderThan: -30)
    #expect(place.rejected == ["directory"])
  }
}
