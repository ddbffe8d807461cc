/// Ends an event: applies delete rules and tells observers.
extension NSManagedObjectContext {
  /// Applies delete rules and tells observers, without an override.
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

  /// Ends the event and reports its changes to observers.
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

  /// The main queue has no block around each use, so its changes are processed at the end of its turn.
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
