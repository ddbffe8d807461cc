import Foundation
import Glibc
import LinuxSystem

/// What a start makes before it is known that the pool can run. Where the start is refused, that goes again.
struct StartRemains {
  private let layout: QueueLayout
  private let hadQueue: Bool
  /// The path of the store's file, if there was none.
  private let newStore: String?

  /// Looks at what is there before anything is made.
  ///
  /// - Parameter store: the path of the store's file; nil for a store at a server.
  init(_ layout: QueueLayout, store: String?) {
    self.layout = layout
    hadQueue = access(layout.root, F_OK) == 0
    newStore = store.flatMap { access($0, F_OK) == 0 ? nil : $0 }
  }

  /// Removes a store without a byte. Called while the store is locked.
  func removeStore() {
    var status = stat()
    if let newStore, stat(newStore, &status) == 0, status.st_size == 0 { unlink(newStore) }
  }

  /// Removes the queue directory, unless there was one before or a producer has put a file there. Called while it is
  /// locked.
  func removeQueue() {
    guard !hadQueue else { return }
    // These two are the pool's alone.
    for directory in [layout.run, LogDirectory(queue: layout.root).path] {
      // What cannot be removed stays, and the error of the start is told.
      try? FileManager.default.removeItem(atPath: directory)
    }
    // A directory with a file in it stays.
    for directory in [layout.incoming, layout.rejected, layout.periodic, layout.taken, layout.root] { rmdir(directory) }
  }
}
