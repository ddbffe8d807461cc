import Foundation
import Glibc
import LinuxSystem

/// What a start makes before it is known that the pool can run. Where the start is refused, that goes again.
///
/// Most refusals come before anything is made. Others need the locks, which are on files: another pool, a store that a
/// server does not open.
struct StartRemains {
  private let layout: QueueLayout
  /// The directories of the queue directory that were not there, the innermost first.
  private let newDirectories: [String]
  /// The path of the store's file, if there was none.
  private let newStore: String?

  /// Looks at what is there before anything is made.
  ///
  /// - Parameter store: the path of the store's file; nil for a store at a server.
  init(_ layout: QueueLayout, store: String?) {
    self.layout = layout
    newDirectories = layout.directories.reversed().filter { access($0, F_OK) != 0 }
    newStore = store.flatMap { access($0, F_OK) == 0 ? nil : $0 }
  }

  /// Removes a store without a byte. Called while the store is locked.
  func removeStore() {
    var status = stat()
    if let newStore, stat(newStore, &status) == 0, status.st_size == 0 { unlink(newStore) }
  }

  /// Removes the directories that were not there before. Called while the queue directory is locked.
  func removeQueue() {
    for directory in newDirectories {
      switch directory {
      // These two are the pool's alone.
      case layout.run, layout.log:
        // What cannot be removed stays, and the error of the start is told.
        try? FileManager.default.removeItem(atPath: directory)
      case layout.taken: DirectoryIdentity.removeAlone(from: directory)
      default: break
      }
      // A directory with a file in it stays: a producer has put it there.
      rmdir(directory)
    }
  }
}
