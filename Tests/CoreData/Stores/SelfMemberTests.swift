import Foundation
import Testing

@testable import CoreData

/// Objects that are members of themselves, in an ordered relationship to their own entity.
@Suite struct SelfMemberTests {
  @Test(arguments: StoreKind.allCases, StoreKind.allCases)
  func aMemberOfItselfIsMigrated(kind: StoreKind, new: StoreKind) throws {
    let stack = try StoreStack(kind)
    let context = stack.context()
    try context.performAndWait {
      let tags = ["a", "b"].map { context.make("Tag", ["label": $0]) }
      tags[1].setValue(NSOrderedSet(array: [tags[1]]), forKey: "ordered")
      try context.save()
      tags[1].setValue(NSOrderedSet(array: tags), forKey: "ordered")
      try context.save()
      context.reset()
    }
    new.register()
    let old = stack.store
    let place = new.place(stack.folder.appendingPathComponent("migrated"))
    try stack.coordinator.migratePersistentStore(old, to: place, withType: new.type)
    try context.performAndWait {
      for tag in try context.all("Tag", sort: "label") {
        #expect(tag.members("orderedBy").map { $0.text("label") } == ["b"], "orderedBy of \(tag.text("label") ?? "")")
      }
      let owner = try #require(context.all("Tag", where: "label == 'b'").first)
      let ordered = owner.value(forKey: "ordered") as? NSOrderedSet
      #expect((ordered?.array as? [NSManagedObject])?.map { $0.text("label") } == ["a", "b"])
    }
  }
}
