import Foundation
import Glibc
import LinuxSystem
import WorkerProtocol

/// What the plugin directories hold: for each plugin the file that counts, which is that of the first directory with
/// its name.
struct PluginListings {
  static let prefix = "worker-"

  let directories: [String]
  /// What each directory holds: the paths of its plugins' files by name. One that has not answered yet has none.
  private var listings: [String: [String: String]] = [:]
  /// What those held before that have not answered.
  private let formerListings: [String: [String: String]]
  /// The files of the discovery before this one, by name, but for those that were missing there already.
  private let formerFiles: [String: String]
  /// Plugins that were found before, and that no directory lists now. Their files are waited for: they may be replaced
  /// just now. The next discovery forgets those that are still missing.
  private var missing: Set<String> = []
  /// The paths of the plugins' files by name.
  private(set) var files: [String: String] = [:]

  /// - Parameter former: those of the discovery before this one.
  init(_ directories: [String], former: PluginListings?) {
    self.directories = directories
    formerListings = former.map { $0.formerListings.merging($0.listings) { $1 } } ?? [:]
    formerFiles = former.map { former in former.files.filter { !former.missing.contains($0.key) } } ?? [:]
  }

  /// Directories that have not answered.
  var silent: [String] { directories.filter { listings[$0] == nil } }
  var hasSilent: Bool { listings.count < Set(directories).count }

  /// Whether there is a file of this name, or may be one in a directory that has not answered.
  func mayHave(_ name: String) -> Bool {
    files[name] != nil || silent.contains { formerListings[$0]?[name] != nil }
  }

  /// The directory of a plugin's file.
  func directory(of name: String) -> String? {
    files[name].map { String($0.dropLast(Self.prefix.count + name.count + 1)) }
  }

  /// A directory has answered.
  mutating func note(_ files: [String: String], in directory: String) { listings[directory] = files }

  /// Takes over the files of the directories that have answered. Returns the plugins that have got another file.
  ///
  /// While a directory before them has not answered, what it held before comes first, and it may hold anything.
  ///
  /// - Parameter isImpatient: whether it counts as one that holds what it held before.
  mutating func takeFiles(isImpatient: Bool) -> [String] {
    var names: [String] = []
    var taken: Set<String> = []
    for directory in directories {
      guard let listed = listings[directory] else {
        guard isImpatient else { return names }
        taken.formUnion(formerListings[directory]?.keys.map(\.self) ?? [])
        continue
      }
      for (name, path) in listed where taken.insert(name).inserted && files[name] != path {
        files[name] = path
        names.append(name)
      }
    }
    guard !hasSilent else { return names }
    for (name, path) in formerFiles where files[name] == nil && missing.insert(name).inserted {
      files[name] = path
      names.append(name)
    }
    return names
  }

  /// A plugin has answered, so its file is there.
  mutating func noteAnswer(of name: String) { missing.remove(name) }

  /// Paths of a directory's plugin files by name; nil if the process has no descriptor to look. Blocks as long as its
  /// file system does.
  static func files(in directory: String) -> [String: String]? {
    let descriptor = Glibc.open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if descriptor < 0, ErrorNumber.isOutOfDescriptors(errno) { return nil }
    if descriptor >= 0 { close(descriptor) }
    var files: [String: String] = [:]
    // A directory that is not there has no plugins yet.
    for file in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] {
      let name = String(file.dropFirst(prefix.count))
      guard file.hasPrefix(prefix), isProtocolName(name), !name.contains(".") else { continue }
      let path = directory + "/" + file
      var status = stat()
      // A link that leads nowhere is found, too: its failure says that it cannot be executed.
      let isDirectory = stat(path, &status) == 0 && FileKind(status) == .directory
      if !isDirectory { files[name] = path }
    }
    return files
  }
}
