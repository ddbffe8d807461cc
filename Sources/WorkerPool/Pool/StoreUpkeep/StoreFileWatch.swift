import Glibc
import Jobs

/// The pool follows the files that SQLite has open. When their paths lead elsewhere, it ends.
extension PoolServer {
  /// The exit code of a pool whose store was replaced, renamed or deleted.
  static let storePartedCode: Int32 = 6

  /// Notices at once when something happens to the files or their names.
  func watchStoreFiles(_ files: StoreFiles) {
    storeFiles = files
    do {
      let watch = try FileNameWatch(files.paths)
      try loop.watch(watch.descriptor, for: .readable) { [weak self, unowned watch] in
        watch.collect()
        self?.checkStoreFiles()
      }
      storeFilesWatch = watch
    } catch {
      log(.trouble, "the store's files cannot be watched and are looked at every \(Self.rescanInterval) s: \(error)")
    }
    checkStoreFiles()
  }

  /// Ends the pool when the store's path leads to another file than the one that is open, or to none: what is committed from now on
  /// would be lost.
  func checkStoreFiles() {
    guard storeFailure == nil, let storeFiles else { return }
    do {
      try storeFiles.check()
    } catch {
      let sentence = "\(error): no more job files are taken, and the pool ends"
      storeFailure = sentence
      if let watch = storeFilesWatch { loop.unwatch(watch.descriptor) }
      storeFilesWatch = nil
      log(
        .storeParted, "\(sentence); see to it that the right file stands there before you start the pool again",
        .path(error.path))
      exitCode = Self.storePartedCode
      stop(deadline: 0)
    }
  }
}
