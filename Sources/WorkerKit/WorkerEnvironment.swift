import Foundation
import Jobs
import StoreTools
import WorkerProtocol

/// What the pool tells a worker process through its environment: see PROTOCOL.md.
struct WorkerEnvironment {
  /// The number of the descriptor that is the connection to the pool.
  let connection: Int32
  let store: String
  let model: String
  /// A file by whose lock the pool's processes take turns at writing.
  let writeTurn: String?
  /// The store's file, by device and inode.
  let storeFile: FileID?
  /// Seconds that a job may go on after the pool's death.
  let orphanDeadline: Double
  /// Kinds of jobs whose changes are kept.
  let keptKinds: Set<String>

  /// `nil` when the process was not started by a pool.
  init?(_ environment: [String: String]) {
    guard let connection = environment[.connection].flatMap({ Int32($0) }), let store = environment[.store],
      let model = environment[.model]
    else { return nil }
    self.connection = connection
    self.store = store
    self.model = model
    writeTurn = environment[.writeTurn]
    storeFile = environment[.storeID].flatMap { FileID($0) }
    orphanDeadline = environment[.orphanDeadline].flatMap(Double.init) ?? 300
    keptKinds = Set(environment[.keepChanges]?.split(separator: ",").map(String.init) ?? [])
  }

  /// Opens the app's store and the pool's in the shared file, on a coordinator of this process.
  func openStore() throws -> JobStore {
    try checkStoreFile(FileID(path: store))
    let model = try ModelLoader.load(model)
    // The pool's own process checkpoints, so that no commit here has to.
    let pragmas = ["wal_autocheckpoint": "0", "journal_size_limit": "\(WALCheckpointer.Limits().file)"]
    var options: [AnyHashable: Any] = [NSSQLitePragmasOption: pragmas, NSPersistentStoreMustExistOption: true]
    if let writeTurn { options[NSPersistentStoreWriteTurnOption] = writeTurn }
    // A worker reads a hand of jobs and is done with them. The app's rows have a cache of the usual size.
    let opened = try JobStore(url: StorePlace(store).url, model: model, options: options, cachedRows: 1000)
    try checkStoreFile(opened.files.main)
    return opened
  }

  /// Another file than the pool's has none of its jobs, or old ones.
  private func checkStoreFile(_ openedFile: FileID?) throws(StoreParted) {
    guard let storeFile, openedFile != storeFile else { return }
    throw StoreParted(path: store, isReplaced: openedFile != nil)
  }
}

/// Turns an error into a sentence for a person, without values of objects.
enum FailureText {
  static func text(_ error: any Error) -> String {
    // Every error can be cast to NSError on Linux; only those that are one say more than their description.
    guard isNSError(error) else { return ErrorText.text(error) }
    let error = error as NSError
    return "\(error.localizedDescription) (\(error.domain) \(error.code))"
  }

  /// The error's type, or an `NSError`'s domain and code.
  static func type(_ error: any Error) -> String {
    if error is CommitFailure { return CommitFailure.type }
    guard isNSError(error) else { return "\(Swift.type(of: error))" }
    let error = error as NSError
    return "\(error.domain) \(error.code)"
  }

  private static func isNSError(_ error: any Error) -> Bool { Swift.type(of: error) is NSError.Type }
}
