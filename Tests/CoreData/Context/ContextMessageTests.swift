import CoreData
import Testing

/// The typed messages that contexts post beside their notifications.
@Suite @MainActor struct ContextMessageTests {
  private typealias Context = NSManagedObjectContext
  private let center = NotificationCenter.default

  private func context(_ kind: NSManagedObjectContext.ConcurrencyType, _ store: TemporaryStore) -> Context {
    let context = NSManagedObjectContext(kind)
    context.persistentStoreCoordinator = store.coordinator
    return context
  }

  @Test func aMainQueueContextPostsMessagesOnTheMainActorBesideItsNotifications() throws {
    let store = try TemporaryStore(options: [NSPersistentHistoryTrackingKey: true])
    let context = context(.mainQueue, store)
    var told: [String] = []
    var token: NSPersistentHistoryToken?
    let observers = [
      center.addObserver(of: context, for: .willSave) { told.append("will \($0.context === context)") },
      center.addObserver(of: context, for: .objectsDidChange) { message in
        told.append("change \(message.inserted.count) \(message.updated.count) \(message.deleted.count)")
        told.append("\(message.refreshed.count) \(message.invalidated.count) \(message.invalidatedAll ?? false)")
      },
      center.addObserver(of: context, for: .didSave) { message in
        told.append("did \(message.inserted.count) \(message.updated.count) \(message.deleted.count)")
        #expect(message.queryGeneration == nil)
        token = message.historyToken
      },
      center.addObserver(of: context, for: .didSaveObjectIDs) { message in
        told.append("IDs \(message.insertedIDs.count) \(message.updatedIDs.count) \(message.deletedIDs.count)")
        #expect(message.insertedIDs.allSatisfy { !$0.isTemporaryID } && message.historyToken == token)
      },
    ]
    let other = center.addObserver(of: self.context(.mainQueue, store), for: .didSave) { _ in told.append("another") }
    let book = context.make("Book", ["title": "a"])
    try context.save()
    #expect(told == ["change 1 0 0", "0 0 false", "will true", "did 1 0 0", "IDs 1 0 0"])
    #expect(token == store.coordinator.currentPersistentHistoryToken(fromStores: nil) && token != nil)
    told = []
    book.setValue("b", forKey: "title")
    context.delete(context.make("Book", ["title": "never"]))
    try context.save()
    #expect(told == ["change 0 1 0", "0 0 false", "will true", "did 0 1 0", "IDs 0 1 0"])
    told = []
    context.reset()
    #expect(told == ["change 0 0 0", "0 0 true"])
    for observer in observers + [other] { center.removeObserver(observer) }
  }

  @Test func aPrivateContextsMessagesAreASequence() async throws {
    let store = try TemporaryStore()
    let context = context(.privateQueue, store)
    var messages = center.messages(of: context, for: .didSaveObjectIDsAsync).makeAsyncIterator()
    let id = try await context.perform {
      let book = context.make("Book", ["title": "a"])
      try context.save()
      return book.objectID
    }
    let message = try #require(await messages.next())
    #expect(message.context === context && message.insertedIDs == [id] && message.updatedIDs.isEmpty)
    #expect(message.historyToken == nil && message.queryGeneration == nil && message.deletedIDs.isEmpty)
  }

  /// Each question for the place in a history is a query, at a server a round trip: a save asks once.
  @Test func messagesHaveThePlaceOfTheirSaveThoughOthersFollow() throws {
    let store = try TemporaryStore(options: [NSPersistentHistoryTrackingKey: true])
    let (context, other) = (context(.mainQueue, store), context(.mainQueue, store))
    let logs = (NotificationLog(context), NotificationLog(other))
    context.make("Book", ["title": "a"])
    try context.save()
    let token = store.coordinator.currentPersistentHistoryToken(fromStores: nil)
    try store.save { $0.make("Book", ["title": "b"]) }
    func notification(_ name: Notification.Name, _ context: Context, _ log: NotificationLog) -> Notification {
      Notification(name: name, object: context, userInfo: log.last(name))
    }
    let objects = notification(.NSManagedObjectContextDidSave, context, logs.0)
    other.mergeChanges(fromContextDidSave: objects)
    let ids = notification(.NSManagedObjectContextDidSaveObjectIDs, context, logs.0)
    let merge = notification(.NSManagedObjectContextDidMergeChangesObjectIDs, other, logs.1)
    #expect(token != nil && Context.DidSaveMessage.makeMessage(objects)?.historyToken == token)
    #expect(Context.DidSaveObjectIDsMessage.makeMessage(ids)?.historyToken == token)
    #expect(Context.DidMergeChangesMessage.makeMessage(merge)?.historyToken == token)
  }

  @Test func mergesAreToldToo() async throws {
    let store = try TemporaryStore()
    let id = try store.save { $0.make("Book", ["title": "a"]) }.objectID
    let (main, background) = (context(.mainQueue, store), context(.privateQueue, store))
    let changes = [NSUpdatedObjectsKey: [id]]
    var told: Set<NSManagedObjectID> = []
    let observer = center.addObserver(of: main, for: .didMergeChanges) { message in
      told = message.updatedIDs
      #expect(message.insertedIDs.isEmpty && message.refreshedIDs.isEmpty && message.invalidatedIDs.isEmpty)
    }
    var messages = center.messages(of: background, for: .didMergeChangesAsync).makeAsyncIterator()
    Context.mergeChanges(fromRemoteContextSave: changes, into: [main, background])
    #expect(told == [id])
    let message = try #require(await messages.next())
    #expect(message.updatedIDs == [id] && message.context === background)
    center.removeObserver(observer)
  }

  @Test func messagesAndNotificationsAreMadeOfEachOther() throws {
    let store = try TemporaryStore()
    let (main, background) = (context(.mainQueue, store), context(.privateQueue, store))
    let id = try store.save { $0.make("Book", ["title": "a"]) }.objectID
    let book = main.object(with: id)
    let saved = Notification(
      name: .NSManagedObjectContextDidSave, object: main, userInfo: [NSUpdatedObjectsKey: Set([book])])
    let message = try #require(Context.DidSaveMessage.makeMessage(saved))
    #expect(message.updated == [book] && message.context === main)
    #expect(Context.DidSaveMessage.makeNotification(message) == saved)
    #expect(Context.WillSaveMessage.makeMessage(saved) == nil && Context.DidSaveMessage.name == saved.name)
    let will = try #require(
      Context.WillSaveMessage.makeMessage(Notification(name: .NSManagedObjectContextWillSave, object: main)))
    #expect(Context.WillSaveMessage.makeNotification(will).object as AnyObject === main)
    for (name, kind) in [
      (Notification.Name.NSManagedObjectContextDidSaveObjectIDs, main),
      (.NSManagedObjectContextDidMergeChangesObjectIDs, background),
    ] {
      let ids = Notification(
        name: name, object: kind, userInfo: [NSDeletedObjectIDsKey: Set([id]), NSRefreshedObjectIDsKey: Set([id])])
      if kind === main {
        let message = try #require(Context.DidSaveObjectIDsMessage.makeMessage(ids))
        #expect(message.deletedIDs == [id] && message.refreshedIDs == [id])
        #expect(Context.DidSaveObjectIDsMessage.makeNotification(message) == ids)
        #expect(Context.DidSaveObjectIDsAsyncMessage.makeMessage(ids) == nil)
      } else {
        let message = try #require(background.performAndWait { Context.DidMergeChangesAsyncMessage.makeMessage(ids) })
        #expect(Context.DidMergeChangesAsyncMessage.makeNotification(message) == ids)
        #expect(Context.DidMergeChangesMessage.makeMessage(ids) == nil)
      }
    }
  }

  @Test func aPrivateQueueThatTheMainQueueWaitsForSavesIntoAMainQueueParent() async throws {
    // The child's save changes the parent, whose message still comes on the main actor.
    let store = try TemporaryStore()
    let parent = context(.mainQueue, store)
    let child = Context(.privateQueue)
    child.parent = parent
    var told = 0
    let observer = center.addObserver(of: parent, for: .objectsDidChange) { told += $0.inserted.count }
    try child.performAndWait {
      child.make("Book", ["title": "a"])
      try child.save()
    }
    parent.processPendingChanges()
    try await child.perform {
      child.make("Book", ["title": "b"])
      try child.save()
    }
    parent.processPendingChanges()
    #expect(told == 2)
    center.removeObserver(observer)
  }
}
