import Foundation
import Testing

/// Producers may give their files any name, the same one as often as they like: the pool runs the jobs of each file
/// exactly once.
@Suite(.serialized) struct JobFileNameTests {
  /// Given a pool, when a file is replaced at any step on its way, then both versions run once:
  ///
  ///     producer             pool
  ///     rename v1 → name
  ///                          renames v1, reads it, commits its jobs
  ///     rename v2 → name
  ///                          removes v1, and never v2
  @Test(.timeLimit(.minutes(20)))
  func aFileThatReplacesOneThatIsBeingTakenIsTakenToo() throws {
    let producer = try Producer(files: 600)
    let pool = try producer.items.start()
    let steps = try JobFileSteps(queue: producer.items.queue)
    for pair in 0..<300 {
      let name = "pair-\(pair).json"
      try producer.put(2 * pair, as: name)
      // It is in place; taken, which are two steps; removed.
      try steps.wait(for: pair % 5, of: name)
      if let untaken = try producer.put(2 * pair + 1, as: name) { try producer.put(untaken, as: "again-\(pair).json") }
    }
    try producer.check(pool)
  }

  /// Given a pool, when a thousand files come under one name as fast as they can, then each runs once.
  @Test(.timeLimit(.minutes(20)))
  func aThousandFilesOfOneNameAreAllTaken() throws {
    let producer = try Producer(files: 1000)
    let pool = try producer.items.start()
    var waiting = Array(0..<1000)
    // What the pool has not taken when it is replaced comes again later.
    while let file = waiting.popLast() {
      if let untaken = try producer.put(file, as: "same.json") { waiting.insert(untaken, at: 0) }
    }
    try producer.check(pool)
  }

  /// Given a template whose job has run, when the pool is killed and the template is linked into the directory again
  /// under the same name, then the next pool runs its job again: it is a new file, though name, inode, time and size
  /// are those of the first.
  @Test func aLinkedTemplateThatComesAgainAfterARestartIsTakenAgain() throws {
    let items = try ItemPool(items: 2)
    let template = try items.place.write(#"{"kind": "add", "objects": ["\#(items.items[0])"]}"#, to: "template")
    try FileManager.default.setAttributes([.modificationDate: Date() - 60], ofItemAtPath: template)
    let pool = try items.start()
    // The look at everything that a pool begins with is over when these have run: the template is announced.
    for _ in 1...2 { try items.submit("add", items: [items.items[1]]) }
    try pool.waitForJobs(2)
    try #require(link(template, items.queue + "/incoming/.linked") == 0)
    try #require(rename(items.queue + "/incoming/.linked", items.queue + "/incoming/template.json") == 0)
    try pool.waitForJobs(3)
    try pool.kill9()
    try #require(link(template, items.queue + "/incoming/template.json") == 0)
    let next = try items.start()
    try next.waitForJobs(4)
    try next.stop()
    try items.checkNothingIsLeft(of: next, value: 2)
  }
}

/// Puts files with one job each into the queue directory; each job adds 1 to an item of its own.
private struct Producer {
  let items: ItemPool

  init(files count: Int) throws { items = try ItemPool(items: count) }

  /// Puts a file in place, also of another one. Returns the number of the file that lay there, which no pool has taken
  /// then.
  @discardableResult
  func put(_ file: Int, as name: String) throws -> Int? {
    let temporary = items.place.path("file")
    try Data("{\"kind\": \"add\", \"objects\": [\"\(items.items[file])\"]}".utf8)
      .write(to: URL(fileURLWithPath: temporary))
    let target = items.queue + "/incoming/" + name
    if exchange(temporary, target) {
      let text = try String(contentsOfFile: temporary, encoding: .utf8)
      return items.items.firstIndex { text.contains("\"\($0)\"") }
    }
    try #require(rename(temporary, target) == 0)
    return nil
  }

  /// Exchanges two files in one step, so that the producer knows what lay there; false when there is only one.
  ///
  /// Source: renameat2(2), RENAME_EXCHANGE, which Swift's Glibc module lacks.
  private func exchange(_ one: String, _ other: String) -> Bool {
    typealias Call = @convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32) -> Int32
    guard let symbol = dlsym(nil, "renameat2") else { return false }
    return unsafeBitCast(symbol, to: Call.self)(AT_FDCWD, one, AT_FDCWD, other, 2) == 0
  }

  func check(_ pool: RunningPool) throws {
    let count = items.items.count
    // Files that are lost leave an idle pool behind: then the counts below say so.
    var idleLooks = 0
    try pool.wait { status in
      let jobs = status.jobs ?? [:]
      let waits = try jobs.contains { !["succeeded", "dead"].contains($0.key) && $0.value > 0 } || !items.isTaken
      idleLooks = waits ? 0 : idleLooks + 1
      return jobs["succeeded"] ?? 0 >= count || idleLooks > 100
    }
    try pool.stop()
    #expect(try sqlite(items.store, "SELECT count(*) FROM WPPOOLJOB") == "\(count)")
    try items.checkNothingIsLeft(of: pool)
  }
}
