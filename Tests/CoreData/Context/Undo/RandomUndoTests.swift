import CoreData
import TestFiles
import Testing

/// Long random histories of changes, saves, undos and redos, in which each state must come back as it was.
@Suite struct RandomUndoTests {
  /// All objects that were ever created, and the context's view of them.
  private struct Library {
    let context: NSManagedObjectContext
    var objects: [NSManagedObject] = []
    var random: SeededGenerator

    func live(_ entity: String) -> [NSManagedObject] {
      objects.filter { $0.entity.name == entity && $0.managedObjectContext != nil && !$0.isDeleted }
    }

    private func name(_ object: NSManagedObject) -> String {
      objects.firstIndex(of: object).map { "\(object.entity.name ?? "")\($0)" } ?? "unknown"
    }

    /// One line for each existing object.
    func state() -> [String] {
      objects.filter { $0.managedObjectContext != nil && !$0.isDeleted }.map { object in
        let values = object.entity.propertiesByName.keys.sorted().compactMap { key -> String? in
          switch object.value(forKey: key) {
          case let related as NSManagedObject: "\(key)=\(name(related))"
          case let members as NSSet where members.count > 0:
            "\(key)=\(members.compactMap { ($0 as? NSManagedObject).map(name) }.sorted())"
          case let members as NSOrderedSet where members.count > 0:
            "\(key)=\(members.array.compactMap { ($0 as? NSManagedObject).map(name) })"
          case let text as String: "\(key)=\(text)"
          case let number as NSNumber: "\(key)=\(number)"
          default: nil
          }
        }
        return "\(name(object)): \(values.joined(separator: " "))"
      }
    }

    mutating func pick(_ entity: String) -> NSManagedObject? {
      let live = live(entity)
      return live.isEmpty ? nil : live[Int.random(in: 0..<live.count, using: &random)]
    }

    mutating func change() {
      let text = "\(Int.random(in: 0..<1000, using: &random))"
      switch Int.random(in: 0..<13, using: &random) {
      case 0, 1: objects.append(context.make("Author", ["name": text]))
      case 2, 3:
        let book = context.make("Book", ["title": text])
        objects.append(book)
        book.setValue(pick("Author"), forKey: "author")
      case 4: objects.append(context.make("Tag", ["label": text]))
      case 5:
        let passport = context.make("Passport", ["number": text])
        objects.append(passport)
        passport.setValue(pick("Author"), forKey: "holder")
      case 6: pick("Book")?.setValue(text, forKey: "title")
      case 7: pick("Book")?.setValue(pick("Author"), forKey: "author")
      case 8:
        if let tag = pick("Tag") { pick("Book")?.mutableSetValue(forKey: "tags").add(tag) }
      case 9:
        if let tag = pick("Tag") { pick("Book")?.mutableSetValue(forKey: "tags").remove(tag) }
      case 10:
        guard let list = pick("Tag")?.mutableOrderedSetValue(forKey: "ordered"), let tag = pick("Tag") else { return }
        list.insert(tag, at: Int.random(in: 0...list.count, using: &random))
        list.exchangeObject(at: 0, withObjectAt: list.count - 1)
      case 11: pick("Author")?.setValue(pick("Passport"), forKey: "passport")
      default:
        let entity = ["Author", "Book", "Tag", "Passport"].randomElement(using: &random) ?? "Tag"
        if let object = pick(entity) { context.delete(object) }
      }
    }
  }

  @Test(arguments: 0..<12) func everyStateComesBackAsItWas(seed: UInt64) throws {
    let store = try TemporaryStore()
    let context = store.context()
    try context.performAndWait {
      context.undoManager = UndoManager()
      var library = Library(context: context, random: SeededGenerator(seed: seed))
      // The states, each one step from the next. The last one is the newest that can be redone.
      var states = [library.state()]
      var position = 0
      for step in 0..<60 {
        #expect(context.isConsistent, "before step \(step), seed \(seed)")
        switch Int.random(in: 0..<10, using: &library.random) {
        case 0, 1:
          try context.save()
        case 2, 3, 4:
          for _ in 0..<Int.random(in: 1...4, using: &library.random) where position > 0 {
            context.undo()
            position -= 1
            try #require(library.state() == states[position], "undo to \(position), seed \(seed)")
          }
        case 5:
          for _ in 0..<Int.random(in: 1...4, using: &library.random) where position + 1 < states.count {
            context.redo()
            position += 1
            try #require(library.state() == states[position], "redo to \(position), seed \(seed)")
          }
        default:
          let steps = context.undoManager?.undoCount ?? 0
          for _ in 0..<Int.random(in: 1...4, using: &library.random) { library.change() }
          context.processPendingChanges()
          // Changes that cancel each other within the event leave nothing to undo.
          guard context.undoManager?.undoCount == steps + 1 else { continue }
          states.removeSubrange((position + 1)...)
          states.append(library.state())
          position += 1
        }
      }
      while position > 0 {
        context.undo()
        position -= 1
        try #require(library.state() == states[position], "undo to \(position), seed \(seed)")
        if position % 5 == 0 { try context.save() }
      }
      #expect(library.state().isEmpty && context.isConsistent)
      try context.save()
      while position + 1 < states.count {
        context.redo()
        position += 1
        try #require(library.state() == states[position], "redo to \(position), seed \(seed)")
      }
      try context.save()
      // The file has the content that the context shows.
      let shown = library.live("Book").map {
        "\($0.text("title") ?? "") \($0.object("author")?.text("name") ?? "") \($0.members("tags").count)"
      }
      try store.read { fresh in
        let stored = try fresh.all("Book").map {
          "\($0.text("title") ?? "") \($0.object("author")?.text("name") ?? "") \($0.members("tags").count)"
        }
        #expect(stored.sorted() == shown.sorted())
        try #expect(fresh.all("Author").count == library.live("Author").count)
      }
    }
  }
}
