import Glibc
import LinuxSystem

/// Plugins whose files have gone and are waited for, and those that are asked again when their files change.
final class PluginFileWaits {
  /// Plugins whose files are waited for, with the number of looks.
  private var absent: [String: Int] = [:]
  /// Plugins that are asked again when their files change.
  private var watched: Set<String> = []
  private var watch: PluginFileWatch?
  private let loop: EventLoop
  private let changed: (String) -> Void

  /// - Parameter changed: called on the loop with the name of a watched plugin whose file has come or changed.
  init(loop: EventLoop, changed: @escaping (String) -> Void) {
    self.loop = loop
    self.changed = changed
  }

  deinit { endWatch() }

  /// Whether the plugin's file is waited for.
  func awaits(_ name: String) -> Bool { absent[name] != nil }

  /// Begins to wait for a file. False if that has begun.
  func begin(_ name: String) -> Bool {
    guard absent[name] == nil else { return false }
    absent[name] = 0
    return true
  }

  /// Counts a look at a file that is waited for. Returns how many there were before.
  func noteLook(at name: String) -> Int {
    let looks = absent[name] ?? 0
    absent[name] = looks + 1
    return looks
  }

  /// Tells from now on when the plugin's file comes or changes.
  func watch(_ name: String, in directory: String) {
    guard watched.insert(name).inserted else { return }
    do throws(SystemCallError) {
      if watch == nil {
        let new = try PluginFileWatch()
        try loop.watch(new.descriptor, for: .readable) { [weak self] in self?.collect() }
        watch = new
      }
      loop.blocking.run(on: PluginDiscovery.subject(directory), { [watch] in watch?.add(directory) }, then: { _ in })
    } catch {
      // No inotify instance is left. The looks at longer and longer intervals remain.
    }
  }

  private func collect() {
    for file in watch?.collect() ?? [] where file.hasPrefix(PluginListings.prefix) {
      let name = String(file.dropFirst(PluginListings.prefix.count))
      if watched.contains(name) { changed(name) }
    }
  }

  /// The plugin has answered.
  func end(_ name: String) {
    absent[name] = nil
    watched.remove(name)
    if watched.isEmpty { endWatch() }
  }

  func endWatch() {
    if let watch { loop.unwatch(watch.descriptor) }
    watch = nil
  }
}
