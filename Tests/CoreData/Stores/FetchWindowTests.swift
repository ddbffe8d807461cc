import Testing

@testable import CoreData

/// Limits and offsets at the ends of their range.
@Suite struct FetchWindowTests {
  private func request(limit: Int, offset: Int, sorted: Bool) -> NSFetchRequest<NSManagedObject> {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Tag")
    (request.fetchLimit, request.fetchOffset) = (limit, offset)
    if sorted { request.sortDescriptors = [NSSortDescriptor(key: "label", ascending: true)] }
    return request
  }

  @Test(arguments: StoreKind.allCases, [true, false])
  func theLargestLimitWithAnOffsetIsNoLimit(kind: StoreKind, sorted: Bool) throws {
    let stack = try StoreStack(kind)
    try stack.perform { context in
      for label in ["a", "b", "c"] { context.make("Tag", ["label": label]) }
      try context.save()
      for (limit, offset, count) in [
        (Int.max, 1, 2), (Int.max, Int.max, 0), (1, Int.max, 0), (0, Int.max, 0), (2, -1, 2), (-1, 1, 2),
        (Int.min, Int.min, 3),
      ] {
        let request = request(limit: limit, offset: offset, sorted: sorted)
        try #expect(context.fetch(request).count == count, "\(limit) \(offset)")
        try #expect(context.count(for: request) == count, "\(limit) \(offset)")
        request.predicate = NSPredicate(format: "label != 'x'")
        try #expect(context.count(for: request) == count, "\(limit) \(offset)")
        let unsaved = context.make("Tag", ["label": "d"])
        try #expect(context.fetch(request).count == min(count + (offset < 3 ? 1 : 0), limit > 0 ? limit : 9))
        context.delete(unsaved)
      }
    }
  }

  @Test func dictionariesHaveTheSameWindow() throws {
    for kind in StoreKind.grouping {
      let stack = try StoreStack(kind)
      try stack.perform { context in
        for label in ["a", "b", "c"] { context.make("Tag", ["label": label]) }
        try context.save()
        let request = NSFetchRequest<NSDictionary>(entityName: "Tag")
        request.resultType = .dictionaryResultType
        request.propertiesToFetch = ["label"]
        (request.fetchLimit, request.fetchOffset) = (.max, 1)
        try #expect(context.fetch(request).count == 2)
        request.fetchOffset = -1
        try #expect(context.fetch(request).count == 3)
      }
    }
  }

  @Test func negativeNumbersCountAsZero() {
    let request = request(limit: -1, offset: -2, sorted: false)
    request.fetchBatchSize = -3
    #expect(request.fetchLimit == 0 && request.fetchOffset == 0 && request.fetchBatchSize == 0)
  }

  @Test func aBatchDeletionHasTheSameWindow() throws {
    let stack = try StoreStack(.file)
    try stack.perform { context in
      for label in ["a", "b", "c"] { context.make("Tag", ["label": label]) }
      try context.save()
      let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Tag")
      (request.fetchLimit, request.fetchOffset) = (.max, 1)
      request.sortDescriptors = [NSSortDescriptor(key: "label", ascending: true)]
      try context.execute(NSBatchDeleteRequest(fetchRequest: request))
      context.reset()
      try #expect(context.all("Tag").map { $0.text("label") } == ["a"])
    }
  }
}
