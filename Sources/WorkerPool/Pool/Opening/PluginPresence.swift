import Foundation
import Glibc
import LinuxSystem

/// Whether there is any plugin that could be started, by the files of the plugin directories alone: plugins describe
/// themselves when the pool runs.
enum PluginPresence {
  /// Makes sure that a directory has a plugin's file that can be executed.
  ///
  /// - Throws: ``Pool/StartError/noPlugins(reason:)``
  static func require(in directories: [String]) throws(Pool.StartError) {
    // A pool starts if the directories do not answer: it looks for plugins again.
    let answer = PatientQuestion.ask("plugin files") { reasonForNone(in: directories) }
    if let answer, let reason = answer { throw .noPlugins(reason: reason) }
  }

  /// Why no plugin can be started; nil if one may be. Blocks as long as the file systems do.
  private static func reasonForNone(in directories: [String]) -> String? {
    var failures: [String: String] = [:]
    for directory in directories {
      guard let files = PluginListings.files(in: directory) else { return nil }
      for (name, path) in files where failures[name] == nil {
        if access(path, X_OK) == 0 { return nil }
        failures[name] = "\(path) cannot be executed: \(String(cString: strerror(errno)))"
      }
    }
    guard failures.isEmpty else { return failures.sorted { $0.key < $1.key }.map(\.value).joined(separator: "; ") }
    return
      "there is no worker-NAME file in \(directories.map(named).joined(separator: ", ")); put one there, or name its "
      + "directory with --plugins"
  }

  private static func named(_ directory: String) -> String {
    var status = stat()
    guard stat(directory, &status) == 0 else {
      return "\(directory) (\(String(cString: strerror(errno))))"
    }
    let kind = FileKind(status)
    return kind == .directory ? directory : "\(directory) (\(kind), not a directory)"
  }
}
