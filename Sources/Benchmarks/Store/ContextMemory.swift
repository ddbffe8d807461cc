import CoreData
import Foundation
import Glibc

/// The memory of a context with all objects of a store.
enum ContextMemory {
  static var measures: [Measure] {
    [Measure(name: "registered") { try figures($0) }]
  }

  private static func figures(_ options: Options) throws -> [Figure] {
    let stack = try FilledStore(rows: options.rows).copy()
    let context = stack.context()
    return try context.performAndWait {
      let before = residentMebibytes
      var people = try context.fetch(NSFetchRequest<Person>(entityName: "Person"))
      let fetched = residentMebibytes
      var sum = 0
      for person in people { sum &+= person.readAll() }
      consume(sum)
      let read = residentMebibytes
      people = []
      context.reset()
      let reset = residentMebibytes
      return [
        Figure("memory of a context with all rows registered", .mebibytes, fetched - before),
        Figure("memory after every property was read", .mebibytes, read - before),
        Figure("memory after the context was reset", .mebibytes, reset - before),
      ]
    }
  }

  /// Source: proc(5), the second field of `/proc/self/statm`, in pages.
  private static var residentMebibytes: Double {
    // A figure that the kernel does not give is 0.
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? 0
    return pages * Double(getpagesize()) / 1_048_576
  }
}

/// Memory that a program has used before: blocks of many sizes, of which one in three is still in use.
final class UsedHeap {
  private var blocks: [UnsafeMutableRawPointer] = []

  init(blocks count: Int) {
    var state: UInt64 = 88_172_645_463_325_252
    func random(_ limit: Int) -> Int {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return Int(state % UInt64(limit))
    }
    var allocated: [UnsafeMutableRawPointer] = []
    for _ in 0..<count { allocated.append(.allocate(byteCount: 16 + random(240), alignment: 16)) }
    for index in stride(from: allocated.count - 1, to: 0, by: -1) { allocated.swapAt(index, random(index + 1)) }
    for (index, block) in allocated.enumerated() {
      if index % 3 == 0 { blocks.append(block) } else { block.deallocate() }
    }
  }

  deinit { for block in blocks { block.deallocate() } }
}
