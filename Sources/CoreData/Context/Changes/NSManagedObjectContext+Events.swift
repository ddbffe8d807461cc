/// The end of an event: delete rules are applied and observers told.
extension NSManagedObjectContext {
  /// Applies delete rules and posts `NSManagedObjectContextObjectsDidChange` if anything changed since the last call.
  ///
  /// Called at the end of each `perform` block, and of each turn of the main queue. Does nothing while it runs.
  public final func processPendingChanges() {
    checkQueue()
    guard !isProcessing else { return }
    isProcessing = true
    defer { isProcessing = false }
    if propagatesDeletesAtEndOfEvent { propagateDeletes() }
    undoTracking?.register(changes.event)
    if !changes.event.isEmpty { postObjectsDidChange() }
    while let object = changes.takeDropped() { forget(object) }
  }

  /// Ends the event and tells observers what it changed.
  final func postObjectsDidChange() {
    let event = changes.endEvent()
    let info = event.userInfo
    guard !info.isEmpty else { return }
    changes.posting(event) { post(.NSManagedObjectContextObjectsDidChange, info) }
  }

  /// The main queue has no block around each use: its changes are processed when it next gets round.
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
