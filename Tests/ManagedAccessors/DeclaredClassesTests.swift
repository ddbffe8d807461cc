import CoreData
import Notebook
import Testing

// A module's extension of another module's class.
extension Note {
  @NSManaged var elsewhere: String?
  @NSManaged var sheets: NSSet?
  @NSManaged var steppedOver: Set<Notebook.Note>
}

/// Classes with `@NSManaged` declarations in their source, as on a Mac: this module's and another module's.
@Suite struct DeclaredClassesTests {
  private func inContext(_ body: (NSManagedObjectContext) throws -> Void) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: NotebookModel.make())
    try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait { try body(context) }
  }

  @Test func attributesOfEveryTypeAreReadAndWritten() throws {
    try inContext { context in
      let note = Note(context: context)
      #expect(note.title.isEmpty && note.views == 0 && !note.isPinned && note.body == nil && note.subtitle == nil)
      note.title = "a title that is long enough not to lie in a word"
      note.view()
      note.isPinned = true
      note.rank = -3
      note.subtitle = "sub"
      note.body = "body"
      note.number = 5
      note.price = NSDecimalNumber(string: "1.25")
      note.identifier = UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
      note.link = URL(string: "https://example.org")
      note.attachment = Data([1, 2])
      note.score = 2.5
      note.weight = 0.5
      note.words = ["one", "two"]
      note.shelf = ["room": "attic", "board": 2]
      note.inExtension = 7
      note.linuxText = "linux"
      note.elsewhere = "from another module"
      try context.save()
      context.refreshAllObjects()
      #expect(note.title == "a title that is long enough not to lie in a word" && note.views == 1 && note.isPinned)
      #expect(note.rank == -3 && note.subtitle == "sub" && note.body == "body" && note.number == 5)
      #expect(note.price == NSDecimalNumber(string: "1.25") && note.link == URL(string: "https://example.org"))
      #expect(note.identifier?.uuidString == "E621E1F8-C36C-495A-93FC-0C247A3E6E5F" && note.attachment == Data([1, 2]))
      #expect(note.score == 2.5 && note.weight == 0.5 && note.words == ["one", "two"] && note.inExtension == 7)
      #expect(note.shelf?["room"] as? String == "attic" && note.shelf?["board"] as? Int == 2)
      #expect(note.linuxText == "linux" && note.elsewhere == "from another module")
      #expect(note.value(forKey: "onLinux") as? String == "linux")
    }
  }

  @Test func relationshipsOfEveryKindAreReadAndWritten() throws {
    try inContext { context in
      let note = Note(context: context)
      let children = (0..<3).map { index in
        let child = Note(context: context)
        child.title = "child \(index)"
        return child
      }
      note.addToChildren(children[0])
      children[1].parent = note
      #expect(note.children as? Set<Note> == [children[0], children[1]] && children[0].parent === note)
      note.removeFromChildren(NSSet(object: children[0]))
      #expect(children[0].parent == nil)

      note.insertIntoSteps(children[0], at: 0)
      note.insertIntoSteps(children[1], at: 0)
      note.replaceSteps(at: 1, with: children[2])
      #expect(note.steps?.array as? [Note] == [children[1], children[2]])
      #expect(children[2].stepOf == [note] && children[0].stepOf.isEmpty)
      note.removeFromSteps(at: 0)
      #expect(note.steps?.array as? [Note] == [children[2]])

      note.label("b", in: context)
      note.label("a", in: context)
      #expect(note.labelNames == ["a", "b"])

      let sheet = Drawer.Sheet(context: context)
      sheet.owner = note
      sheet.color = Color(name: "red")
      #expect(note.sheets == NSSet(object: sheet))
      note.sheets = NSSet()
      note.steppedOver = [children[0]]
      #expect(note.steppedOver.first?.title == "child 0")
      #expect(sheet.owner == nil)
      try context.save()
      #expect(sheet.color == Color(name: "red"))
    }
  }

  @Test func primitivesReadAndWriteTheValueItself() throws {
    try inContext { context in
      let note = Note(context: context)
      #expect(note.created == Date(timeIntervalSinceReferenceDate: 1) && note.createdPrimitively == note.created)
    }
  }

  @Test func computedPropertiesAndValidationsAreFoundByName() throws {
    try inContext { context in
      let note = Note(context: context)
      note.title = "Emma"
      #expect(note.value(forKey: "initial") as? String == "E")
      #expect(NSPredicate(format: "initial == 'E'").evaluate(with: note))
      let request = NSFetchRequest<Note>(entityName: "Note")
      request.sortDescriptors = [NSSortDescriptor(keyPath: \Note.title, ascending: true)]
      let controller = NSFetchedResultsController(
        fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "initial", cacheName: nil)
      try controller.performFetch()
      #expect(controller.sections?.map(\.name) == ["E"])
      note.score = -1
      let error = #expect(throws: CocoaError.self) { try context.save() }
      #expect(error?.code == .validationNumberTooSmall)
    }
  }

  @Test func arraysAndSetsAreAddedAndRemoved() throws {
    try inContext { context in
      let (note, first, second) = (Note(context: context), Note(context: context), Note(context: context))
      note.addToChildren([first, second])
      #expect(note.children == NSSet(array: [first, second]))
      note.removeFromChildren(Set([first]))
      #expect(note.children == NSSet(object: second))
    }
  }

  @Test func declaredPropertiesHaveKeyPathNames() throws {
    #expect((\Note.title)._kvcKeyPathString == "title")
    #expect((\Note.created)._kvcKeyPathString == "created")
    #expect((\Note.parent?.parent?.views)._kvcKeyPathString == "parent.parent.views")
    #expect((\Drawer.Sheet.owner?.inExtension)._kvcKeyPathString == "owner.inExtension")
    #expect((\Note.elsewhere)._kvcKeyPathString == "elsewhere")
    #expect((\Note.labelNames)._kvcKeyPathString == "labelNames")
    try inContext { context in
      for title in ["b", "a", "c"] { Note(context: context).title = title }
      let request = NSFetchRequest<Note>(entityName: "Note")
      request.sortDescriptors = [NSSortDescriptor(keyPath: \Note.title, ascending: false)]
      try #expect(context.fetch(request).map(\.title) == ["c", "b", "a"])
    }
  }
}
