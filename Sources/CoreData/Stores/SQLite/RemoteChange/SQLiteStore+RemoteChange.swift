/// Posts notifications about commits to the store's file.
extension SQLiteStore {
  func startPostingRemoteChanges() throws {
    let isWanted = options?[NSPersistentStoreRemoteChangeNotificationPostOptionKey] as? NSNumber
    guard isWanted?.boolValue ?? false else { return }
    if database.configuration.isInMemory {
      database.observeCommits(self) { [weak self] in self?.postRemoteChange($0) }
    } else {
      commits = try CommitWatcher.shared.watch(database.configuration.path) { [weak self] in self?.postRemoteChange($0)
      }
    }
  }

  func stopPostingRemoteChanges() {
    commits?.cancel()
    commits = nil
    database.stopObservingCommits(self)
  }

  private func postRemoteChange(_ connection: SQLiteConnection) {
    // The notice comes without a number: who wants the history reads it then, and gets the error.
    let number = history == nil ? nil : try? HistoryReader.lastNumber(schema, connection)
    postRemoteChange(number ?? nil)
  }
}
