/// Ends an event: applies delete rules and tells observers.
extension NSManagedObjectContext {
  /// Ends the current event: applies delete rules, and posts `NSManagedObjectContextObjectsDidChange` if objects
  /// changed.
  ///
  /// Called at the end of each `perform` block and of each turn of the main queue. Does nothing while it is running.
  public final func processPendingChanges() {
    checkQueue()
    guard !isProcessing else { return }
    heldAfterMerge = []
    isProcessing = true
    defer { isProcessing = false }
    if propagatesDeletesAtEndOfEvent { propagateDeletes() }
    undoTracking?.register(changes.event)
    if !changes.event.isEmpty { postObjectsDidChange() }
    while let object = changes.takeDropped() { forget(object) }
  }

  /// Ends the event and reports its changes to observers.
  final func postObjectsDidChange() {
    let event = changes.endEvent()
    // A save keeps the sets, for what it posts itself.
    var sets = notificationSets ?? NotificationSets()
    var info = event.userInfo(&sets)
    if notificationSets != nil { notificationSets = sets }
    guard !info.isEmpty else { return }
    if isMerging { info[UserInfoKey.changedByMerge] = NSSet() }
    changes.posting(event) { post(.NSManagedObjectContextObjectsDidChange, info) }
  }

  /// The main queue has no block around each use, so its changes are processed at the end of its turn.
  final func scheduleEndOfEvent() {
    guard concurrencyType == .mainQueueConcurrencyType, !isEndOfEventScheduled else { return }
    isEndOfEventScheduled = true
    DispatchQueue.main.async { [weak self] in
      guard let self else { return }
      self.isEndOfEventScheduled = false
      self.reading.needsCacheCheck = true
      self.processPendingChanges()
    }
  }
}
