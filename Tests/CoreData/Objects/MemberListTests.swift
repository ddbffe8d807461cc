import Testing

@testable import CoreData

/// The list behind to-many relationships and a context's changes, compared with an array that does the same slowly.
@Suite struct MemberListTests {
  @Test(arguments: [false, true]) func itHoldsWhatWasInsertedAndNotRemoved(keepsOrder: Bool) throws {
    let context = try TemporaryStore().context()
    context.performAndWait {
      let objects = (0..<500).map { _ in context.make("Tag") }
      var list = MemberList([], keepsOrder: keepsOrder)
      var reference: [NSManagedObject] = []
      var random = SystemRandomNumberGenerator()
      for round in 0..<6000 {
        // Long lists, short ones, and lists near the length at which an index is added.
        let range = round < 2000 ? 500 : round < 4000 ? 20 : 12
        if round == 4000 { for object in objects { list.remove(object) } }
        if round == 4000 { reference.removeAll() }
        let object = objects[Int.random(in: 0..<range, using: &random)]
        let isListed = reference.contains { $0 === object }
        if !isListed, Int.random(in: 0..<3, using: &random) == 0 {
          list.append(unlisted: object)
          reference.append(object)
          if Bool.random(using: &random) { #expect(list.contains(object)) }
        } else if Bool.random(using: &random) {
          #expect(list.insert(object) == !reference.contains { $0 === object })
          if !reference.contains(where: { $0 === object }) { reference.append(object) }
        } else {
          #expect(list.remove(object) == reference.contains { $0 === object })
          reference.removeAll { $0 === object }
        }
        #expect(list.count == reference.count)
      }
      for object in objects { #expect(list.contains(object) == reference.contains { $0 === object }) }
      if keepsOrder { #expect(list.items == reference) } else { #expect(Set(list.items) == Set(reference)) }
      for object in objects { list.remove(object) }
      #expect(list.isEmpty)
    }
  }

  @Test func changedObjectsMoveBetweenTheListsOfAContext() throws {
    let context = try TemporaryStore().context()
    context.performAndWait {
      let objects = (0..<50).map { _ in context.make("Tag") }
      var lists = [ChangedObjects(), ChangedObjects(), ChangedObjects()]
      var reference: [[NSManagedObject]] = [[], [], []]
      for _ in 0..<5000 {
        let object = objects.randomElement()!
        let place = reference.firstIndex { $0.contains { $0 === object } }
        for index in lists.indices { #expect(lists[index].contains(object) == (index == place)) }
        if let place {
          let isElsewhere = lists[(place + 1) % 3].remove(object)
          let wasHere = lists[place].remove(object)
          #expect(!isElsewhere && wasHere)
          reference[place].removeAll { $0 === object }
        } else {
          let index = Int.random(in: 0..<3)
          lists[index].insert(object)
          lists[index].insert(object)
          reference[index].append(object)
        }
        for index in lists.indices { #expect(lists[index].items.count == reference[index].count) }
      }
      for index in lists.indices { #expect(Set(lists[index].items) == Set(reference[index])) }
    }
  }
}
