/// Ends an event: applies delete rules and tells observers.
extension NSManagedObjectContext {
  /// Applies delete rules and tells observers, without an override. In this order:
  ///
  ///     delete rules        they change more objects, which belong to the same event
  ///     the undo manager    one step for all of it
  ///     observers           one notification; what they change belongs to the next event
  ///     dropped objects     new ones that were deleted leave the context, now that observers have seen them
  ///
  /// A call from an observer does nothing: the event that is being posted has to end first.
  ///
  /// - Parameter isMerge: whether the event is that of a merge, which observers can tell by a key.
  final func processEvent(isMerge: Bool = false) {
    checkQueue()
    guard !isProcessing else { return }
    heldAfterMerge = []
    isProcessing = true
    defer { isProcessing = false }
    if propagatesDeletesAtEndOfEvent { propagateDeletes() }
    undoTracking?.register(changes.event)
    if !changes.event.isEmpty { postObjectsDidChange(isMerge: isMerge) }
    while let object = changes.takeDropped() { forget(object) }
  }

  /// Ends the event and reports its changes to observers. An event without reportable changes posts nothing: an object
  /// that was inserted and deleted in it, for example.
  final func postObjectsDidChange(isMerge: Bool = false) {
    let event = changes.endEvent()
    // A save keeps the sets, for what it posts itself.
    var sets = notificationSets ?? NotificationSets()
    var info = event.userInfo(&sets)
    if notificationSets != nil { notificationSets = sets }
    guard !info.isEmpty else { return }
    if isMerge { info[UserInfoKey.changedByMerge] = NSSet() }
    changes.posting(event) { post(.NSManagedObjectContextObjectsDidChange, info) }
  }

  /// The main queue has no block around each use, so its changes are processed at the end of its turn: by a block that
  /// is enqueued with the first change, and so runs after the code that made it.
  final func scheduleEndOfEvent() {
    guard concurrencyType == .mainQueueConcurrencyType, !isEndOfEventScheduled else { return }
    isEndOfEventScheduled = true
    DispatchQueue.main.async { [weak self] in
      guard let self else { return }
      self.isEndOfEventScheduled = false
      self.reading.needsCacheCheck = true
      self.processEvent()
    }
  }
}
