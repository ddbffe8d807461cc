import TestFiles
import Testing

@testable import CoreData

/// Copies of whole stores, with their keys, to stores of other classes.
@Suite struct CopiedContentsTests {
  private static let kinds: [StoreKind] =
    [.file, .binary, .memory, .xml] + (PostgreSQLServer.isInstalled ? [.server] : [])

  /// A library made by random steps, with some objects deleted.
  private func fill(_ stack: StoreStack, seed: Int) throws -> PlainLibrary {
    var random = RandomSteps(seed: seed)
    var library = PlainLibrary()
    try stack.perform { context in
      for _ in 0..<40 {
        for _ in 0..<4 { try context.changeAtRandom(&library, &random) }
        try context.save()
      }
    }
    return library
  }

  /// The entities and keys of all objects.
  private func keys(_ stack: StoreStack) throws -> Set<String> {
    try stack.perform { context in
      let all = try ["Author", "Book", "Tag", "Passport"].flatMap { try context.all($0) }
      return Set(all.map { "\($0.entity.name ?? "")/\($0.objectID.uriRepresentation().lastPathComponent)" })
    }
  }

  private func lastTagKey(_ stack: StoreStack) throws -> Int64 {
    try stack.perform { context in
      let tag = context.make("Tag", ["label": "last"])
      try context.save()
      let key = try #require(Int64(tag.objectID.uriRepresentation().lastPathComponent.dropFirst()))
      context.delete(tag)
      try context.save()
      return key
    }
  }

  @Test(arguments: 0..<3) func aCopyHasAllValuesAndKeysInEachClassOfStores(seed: Int) throws {
    // Given a library in a file.
    var stack = try StoreStack(.file)
    let library = try fill(stack, seed: seed)
    let keys = try keys(stack)
    // When it goes from class to class, to a file in the end.
    for kind in Self.kinds + [.file] {
      stack.coordinator.setMetadata(["app": "mine"], for: stack.store)
      let last = try lastTagKey(stack)
      let copy = try StoreStack(kind)
      let entities = try stack.coordinator.copyContents(to: copy.coordinator)
      // Then each copy has all of it under the same keys.
      #expect(try copy.perform { try $0.plainLibrary() } == library, "\(kind)")
      #expect(try self.keys(copy) == keys, "\(kind)")
      #expect(entities.reduce(0) { $0 + $1.count } == keys.count, "\(kind): \(entities)")
      #expect(copy.store.metadata["app"] as? String == "mine")
      // And the key of a deleted object is not given again.
      #expect(try lastTagKey(copy) > last, "\(kind)")
      stack = copy
    }
  }

  @Test(arguments: Self.kinds) func aLargeLibraryIsCopiedInSteps(kind: StoreKind) throws {
    // Given more objects than are copied at a time, with members among them.
    let count = 2 * StoreCopy.rowsAtOnce + 100
    let stack = try StoreStack(.file)
    try stack.perform { context in
      let tags = (0..<count).map { context.make("Tag", ["label": "\($0)"]) }
      tags[0].setValue(NSOrderedSet(array: tags.reversed()), forKey: "ordered")
      let author = context.make("Author", ["name": "Ada"])
      for index in 0..<count { context.make("Book", ["title": "\(index)", "author": author, "tags": [tags[index]]]) }
      try context.save()
    }
    // When
    let copy = try StoreStack(kind)
    var shown: [NSPersistentStoreCoordinator.CopyProgress] = []
    _ = try stack.coordinator.copyContents(to: copy.coordinator) { shown.append($0) }
    // Then
    try copy.perform { context in
      let first = try #require(context.all("Tag", where: "label == '0'").first)
      let ordered = (first.value(forKey: "ordered") as? NSOrderedSet)?.array as? [NSManagedObject] ?? []
      #expect(ordered.compactMap { $0.text("label") } == (0..<count).reversed().map { "\($0)" })
      let odd = try context.all("Book", where: "NOT (ANY tags.label == title)")
      #expect(try context.all("Book").count == count && odd.isEmpty)
    }
    #expect(shown.contains(.writing(2 * count + 1, of: 2 * count + 1)))
    #expect(shown.last == .comparing(2 * count + 1, of: 2 * count + 1))
  }

  private struct Interruption: Error {}

  @Test(arguments: Self.kinds) func anInterruptedCopyLeavesNothing(kind: StoreKind) throws {
    let stack = try StoreStack(.file)
    let library = try fill(stack, seed: 7)
    let copy = try StoreStack(kind)
    #expect(throws: Interruption.self) {
      try stack.coordinator.copyContents(to: copy.coordinator) {
        if case .writing(let done, let total) = $0, done == total { throw Interruption() }
      }
    }
    #expect(try keys(copy).isEmpty)
    _ = try stack.coordinator.copyContents(to: copy.coordinator)
    #expect(try copy.perform { try $0.plainLibrary() } == library)
    // And a store with objects is no destination.
    let error = #expect(throws: NSError.self) { try stack.coordinator.copyContents(to: copy.coordinator) }
    #expect(error?.localizedDescription.contains("already") ?? false)
  }

  @Test(arguments: ["value", "member", "row", "new"]) func aCopyThatSomebodyChangesIsNoticed(what: String) throws {
    let stack = try StoreStack(.file)
    try stack.perform { context in
      let tags = ["x", "y"].map { context.make("Tag", ["label": $0]) }
      context.make("Book", ["title": "one", "pages": 3, "tags": Set(tags)])
      try context.save()
    }
    let copy = try StoreStack(.file)
    _ = try stack.coordinator.copyContents(to: copy.coordinator)
    let mapping = try RowMapping(from: stack.entities, to: copy.entities)
    var comparison = StoreCopy(
      stack.coordinator.objectStores[0], to: copy.coordinator.objectStores[0], mapping: mapping, keepsKeys: true)
    try comparison.findRows()
    try comparison.compare { _ in }
    // When
    try copy.perform { context in
      let book = try #require(context.all("Book").first)
      switch what {
      case "value": book.setValue(4, forKey: "pages")
      case "member": book.setValue(Set<NSManagedObject>(), forKey: "tags")
      case "row": context.delete(book)
      default: context.make("Book", ["title": "two"])
      }
      try context.save()
    }
    // Then
    let error = #expect(throws: NSError.self) { try comparison.compare { _ in } }
    #expect(error?.localizedDescription.contains("differs from the original") ?? false)
  }

  @Test func whatOthersWriteMeanwhileIsNotCopied() throws {
    let stack = try StoreStack(.file)
    let library = try fill(stack, seed: 3)
    let copy = try StoreStack(.binary)
    var hasWritten = false
    _ = try stack.coordinator.copyContents(to: copy.coordinator) { _ in
      if hasWritten { return }
      hasWritten = true
      try stack.perform { context in
        for book in try context.all("Book") { context.delete(book) }
        context.make("Tag", ["label": "late"])
        try context.save()
      }
    }
    #expect(hasWritten)
    #expect(try copy.perform { try $0.plainLibrary() } == library)
  }
}

extension StoreStack {
  fileprivate var entities: [NSEntityDescription] { coordinator.managedObjectModel.entities }
}
