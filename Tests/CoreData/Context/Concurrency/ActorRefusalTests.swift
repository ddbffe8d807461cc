import Testing

/// Objects do not leave the actor that owns their context: such code does not compile.
@Suite struct ActorRefusalTests {
  private static let library = """
    actor Shelf { func put(_ book: Book) {} }
    actor Library: ManagedObjectActor {
      nonisolated let executor: ManagedObjectContextExecutor
      var recent: Book?
      init(_ container: NSPersistentContainer) {
        executor = ManagedObjectContextExecutor(container.newBackgroundContext())
      }
      func add() throws -> NSManagedObjectID {
        let book = Book(context: context)
        try context.save()
        recent = book
        return book.objectID
      }
      func books() throws -> [Book] { try fetch(NSFetchRequest<Book>(entityName: "Book")) }
      func put(_ book: Book) { recent = book }
    }

    """

  @Test func valuesAndObjectIDsCrossWithoutTurningAnyCheckOff() throws {
    try expectRefusals(
      Self.library + """
        func use(_ library: Library) async throws -> [NSManagedObjectID] {
          _ = try await library.add()
          return try await library.fetch(NSFetchRequest<NSManagedObjectID>(entityName: "Book"))
        }
        extension Library {
          func rename(_ id: NSManagedObjectID) throws { recent = try object(id, as: Book.self) }
        }
        """)
  }

  @Test func objectsAreNotReturnedToCodeOutside() throws {
    try expectRefusals(
      Self.library + """
        func use(_ library: Library, _ id: NSManagedObjectID) async throws {
          _ = try await library.books()  // error: can not be returned from actor-isolated
          _ = try await library.object(id, as: Book.self)  // error: can not be returned from actor-isolated
        }
        """)
  }

  @Test func propertiesAndTheContextAreNotReadOutside() throws {
    try expectRefusals(
      Self.library + """
        func use(_ library: Library) async {
          _ = await library.recent  // error: cannot exit actor-isolated context
        }
        func use(_ library: Library) {
          _ = library.context  // error: actor-isolated property 'context'
        }
        """)
  }

  @Test func objectsAreNotHandedToTasksAndActors() throws {
    try expectRefusals(
      Self.library + """
        extension Library {
          func hand(_ id: NSManagedObjectID, to shelf: Shelf) async throws {
            let book = try object(id, as: Book.self)
            await shelf.put(book)  // error: risks causing data races
          }
          func handAll(to shelf: Shelf) async throws {
            for book in try fetch(NSFetchRequest<Book>(entityName: "Book")) {
              await shelf.put(book)  // error: risks causing data races
            }
          }
          func printLater() throws {
            let books = try books()
            Task.detached { print(books) }  // error: risks causing data races
          }
        }
        func give(_ book: Book, to library: Library) async {
          await library.put(book)  // error: risks causing data races
        }
        """)
  }
}
