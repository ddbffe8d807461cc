import Testing

@testable import CoreData

/// The memory of many objects goes back to the system when they leave their context together.
@Suite struct ResetMemoryTests {
  @Test(arguments: [true, false]) func manyObjectsLeaveNoMemoryBehind(resets: Bool) async {
    // In a process of its own, where no other test allocates.
    await #expect(processExitsWith: .success) { [resets = resets as Bool] in
      let store = try TemporaryStore()
      try store.save { context in context.make("Tag", ["label": "one"]) }
      var context: NSManagedObjectContext? = store.context()
      let before = ResidentMemory.bytes
      let full = try context?.performAndWait {
        guard let context, let id = try context.all("Tag").first?.objectID else { return 0 }
        // Faults without rows. Held until all are there, as results of a fetch are.
        let faults = (1...100_000).map { key in
          context.object(with: NSManagedObjectID(storedEntity: id.storedEntity, key: Int64(key)))
        }
        return withExtendedLifetime(faults) { ResidentMemory.bytes }
      }
      if resets { context?.performAndWait { context?.reset() } } else { context = nil }
      let keptBytes = ResidentMemory.bytes - before
      let most = (full ?? 0) - before
      precondition(most > 10 << 20, "\(most) bytes for the objects")
      precondition(keptBytes < most / 3, "\(keptBytes) of \(most) bytes are left")
    }
  }
}

enum ResidentMemory {
  /// The second field of `/proc/self/statm`, in pages. Source: proc(5).
  static var bytes: Int {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4096
  }
}
