import Jobs
import WorkerProtocol

/// Jobs in the order in which they run, the best first.
///
/// - Complexity: taking the best and adding one behind all others is constant, amortised; finding an index is
///   logarithmic, and adding or taking a job in the middle moves those behind it.
struct SortedJobs: Sendable {
  /// Jobs that were taken lie before `start`. They are dropped when they are more than the others.
  private var storage: [WindowJob] = []
  private var start = 0

  var count: Int { storage.count - start }
  var isEmpty: Bool { count == 0 }
  var first: WindowJob? { start < storage.count ? storage[start] : nil }
  var last: WindowJob? { isEmpty ? nil : storage.last }
  var all: ArraySlice<WindowJob> { storage[start...] }

  /// How many of the jobs run before or at a position.
  func count(upTo position: JobPosition) -> Int {
    partition { $0.position <= position } - start
  }

  mutating func insert(_ job: WindowJob) {
    let index = partition { $0.position < job.position }
    if index == start, start > 0 {
      start -= 1
      storage[start] = job
    } else {
      storage.insert(job, at: index)
    }
  }

  mutating func insert(contentsOf jobs: [WindowJob]) {
    guard jobs.count > 16 else { return jobs.forEach { insert($0) } }
    storage.removeFirst(start)
    start = 0
    let isBehind = storage.last.map { last in jobs.allSatisfy { last.precedes($0) } } ?? true
    storage += isBehind ? jobs.sorted { $0.precedes($1) } : jobs
    if !isBehind { storage.sort { $0.precedes($1) } }
  }

  mutating func removeFirst() -> WindowJob? {
    guard start < storage.count else { return nil }
    let job = storage[start]
    start += 1
    if start > 64, start * 2 > storage.count {
      storage.removeFirst(start)
      start = 0
    }
    return job
  }

  mutating func removeLast() -> WindowJob? { isEmpty ? nil : storage.removeLast() }

  /// Takes out the job at that position, if it is there.
  mutating func remove(at position: JobPosition) -> WindowJob? {
    let index = partition { $0.position < position }
    guard index < storage.count, storage[index].position == position else { return nil }
    return storage.remove(at: index)
  }

  /// Takes out the job with this key, if it is there.
  mutating func remove(_ key: JobKey) -> WindowJob? {
    all.firstIndex { $0.key == key }.map { storage.remove(at: $0) }
  }

  /// The index of the first job for which `isBefore` is false.
  private func partition(_ isBefore: (WindowJob) -> Bool) -> Int {
    var low = start
    var high = storage.count
    while low < high {
      let middle = (low + high) / 2
      if isBefore(storage[middle]) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
