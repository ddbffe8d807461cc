import Jobs
import LinuxSystem

/// The pool follows the files that SQLite has open. When their paths lead elsewhere, it ends: what is committed from
/// then on would be lost.
final class StoreFileWatch {
  private let core: PoolCore
  private var files: StoreFiles?
  private var watch: FileNameWatch?
  /// What has happened to the files, as a sentence; `nil` while their paths lead to them.
  private(set) var failure: String?

  init(_ core: PoolCore) { self.core = core }

  /// Notices at once when something happens to the files or their names.
  func start(_ files: StoreFiles) {
    self.files = files
    do {
      let watch = try FileNameWatch(files.paths)
      try core.loop.watch(watch.descriptor, for: .readable) { [weak self, unowned watch] in
        watch.collect()
        self?.check()
      }
      self.watch = watch
    } catch {
      core.log(
        .trouble,
        "the store's files cannot be watched and are checked every \(Clock.text(IncomingFiles.rescanInterval)): "
          + "\(error)"
      )
    }
    check()
  }

  /// Ends the pool when the store's path leads to another file than the one that is open, or to none.
  func check() {
    guard failure == nil, let files else { return }
    do {
      try files.check()
    } catch {
      let sentence = "\(error): no more job files are taken, and the pool ends"
      failure = sentence
      if let watch { core.loop.unwatch(watch.descriptor) }
      watch = nil
      core.log(
        .storeParted, "\(sentence); put the right file there before you start the pool again",
        .path(error.path))
      core.fail(.storeParted)
    }
  }
}
