import Foundation
import Testing

@testable import CoreData

@Suite struct RuntimeAssumptionTests {
  @Test func allHoldInThisProgram() {
    for assumption in RuntimeAssumptions.all { #expect(assumption.holds, "\(assumption.statement)") }
    let compound = NSCompoundPredicate(andPredicateWithSubpredicates: [
      NSPredicate(format: "title == 'Emma'"), NSPredicate(format: "pages > 3"),
    ])
    #expect(compound.description == "title == \"Emma\" AND pages > 3")
  }

  @Test(arguments: [0, 8, 16, 24, 40, 48, 64])
  func otherPlacesOfAClasssSizeAreNotTakenForIt(place: Int) {
    #expect(MethodTable.isReadable(MethodTable.Layout(size: place, addressPoint: place + 4)) == false)
  }

  @Test(arguments: [8, 16, 32, 40])
  func anotherHeaderOfKeyPathsIsNotTakenForTheKnownOne(header: Int) {
    #expect(KeyPathSteps.areReadable(KeyPathSteps.Layout(buffer: header)) == false)
  }

  /// Its neighbour, whose methods nobody replaced, shows the protection that it had.
  @Test func aTableWhoseMethodsWereReplacedHasTheProtectionThatItHad() throws {
    #expect(NSPredicate(format: "a == 1 AND b == 2").description == "a == 1 AND b == 2")
    let replaced = try protection(of: NSCompoundPredicate.self)
    #expect(try replaced == protection(of: NSPredicate.self))
  }

  /// The protection of the memory in which a class's metadata is, such as "r--p".
  private func protection(of type: AnyClass) throws -> Substring {
    let address = unsafeBitCast(type, to: UInt.self)
    // The kernel says that the file has no bytes, so it is read to its end.
    let maps = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/maps")).readToEnd() ?? Data()
    let lines = String(decoding: maps, as: UTF8.self).split(separator: "\n")
    let line = try #require(
      lines.first { line in
        let bounds = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
        return bounds.count == 2 && (bounds[0]..<bounds[1]).contains(address)
      })
    return line.split(separator: " ")[1]
  }

  @Test func aProgramWhoseRuntimeIsUnknownWorksAndSaysWhatItLoses() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      RuntimeAssumptions.refute()
      let store = try TemporaryStore()
      for _ in 0..<2 {
        let context = store.context()
        try context.performAndWait {
          let book = NSEntityDescription.insertNewObject(forEntityName: "Book", into: context)
          book.setValue("Emma", forKey: "title")
          try context.save()
          context.reset()
          let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
          request.predicate = NSPredicate(format: "title == 'Emma' AND title != 'Persuasion'")
          let books = try context.fetch(request)
          #expect(!books.isEmpty)
          #expect(books.allSatisfy { $0.value(forKey: "title") as? String == "Emma" })
        }
      }
      #expect(OverriddenMethods.overrides(.willSave, NSManagedObject.self))
      #expect((\Tabled.boss?.name)._kvcKeyPathString == nil)
    }
    let output = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    let lines = output.split(separator: "\n").filter { $0.hasPrefix("CoreData: ") }
    #expect(lines.count == Set(lines).count)
    for assumption in RuntimeAssumptions.all {
      #expect(lines.filter { $0.contains(assumption.statement) && $0.contains(assumption.loss) }.count == 1)
    }
  }
}
