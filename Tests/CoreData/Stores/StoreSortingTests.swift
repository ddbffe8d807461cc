import Testing

@testable import CoreData

/// The order of fetched objects, where the store sorts.
@Suite struct StoreSortingTests {
  @Test(
    "A store that sorts by itself does it as memory does",
    arguments: StoreKind.allCases.filter { [.file, .server].contains($0) }, 1...2 as ClosedRange<UInt64>)
  func sorting(kind: StoreKind, seed: UInt64) throws {
    let stack = try StoreStack(kind)
    var generator = PredicateGenerator(seed: seed)
    try stack.perform { context in
      generator.fill(context)
      try context.save()
      let all = try context.all("Book")
      let selectors: [Selector?] = [nil] + StringOrdering.allCases.map { Selector($0.rawValue) }
      for key in ["title", "pages", "price", "author.name", "author.born", "author.passport.number", "uuid", "link"] {
        for selector in selectors {
          for ascending in [true, false] {
            let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
            let descriptor = NSSortDescriptor(key: key, ascending: ascending, selector: selector)
            request.sortDescriptors = [descriptor, NSSortDescriptor(key: "objectID", ascending: true)]
            let objects = try context.fetch(request)
            #expect(objects.count == all.count)
            let isSorted = zip(objects, objects.dropFirst()).allSatisfy {
              descriptor.compare($0, to: $1) != .orderedDescending
            }
            #expect(isSorted, "\(descriptor)")
          }
        }
      }
    }
  }
}
