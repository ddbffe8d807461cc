import CoreData
import TestFiles
import Testing

/// Models and stores of former programs: those of `Tests/Fixtures`, which a former version of this package wrote, and
/// as a second opinion those that Apple's tools made, if this machine has them.
package enum ModelFixtures {
  /// The folder that lies in the repository.
  package static let ownFolder = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Fixtures")

  /// The folder of what Apple's tools made; nil if this machine has none. Tests that compare with what only Apple's
  /// tools can tell are then skipped and say so.
  package static let apple: URL? = {
    let environment = ProcessInfo.processInfo.environment["WORKERPOOL_FIXTURES"]
    let beside = ownFolder.appendingPathComponent("../../../shared/fixtures").standardizedFileURL
    let root = environment.map { URL(fileURLWithPath: $0) } ?? beside
    return FileManager.default.fileExists(atPath: root.path) ? root : nil
  }()

  package static var areMissing: Bool { apple == nil }

  /// The arguments of a test: those for the repository's files, and those for Apple's if they are there.
  package static func arguments<Argument>(own: [Argument], apple: [Argument]) -> [Argument] {
    areMissing ? own : own + apple
  }

  /// A file or folder of the repository's fixtures or of Apple's.
  package static func folder(_ path: String) throws -> URL {
    let file = ownFolder.appendingPathComponent(path)
    if FileManager.default.fileExists(atPath: file.path) { return file }
    return try #require(apple, "no fixtures of Apple's: set WORKERPOOL_FIXTURES").appendingPathComponent(path)
  }

  /// The names in a folder of all fixtures.
  package static func names(in path: String) throws -> [String] {
    try [ownFolder, apple].compactMap { $0 }.flatMap { root in
      try FileManager.default.contentsOfDirectory(atPath: root.appendingPathComponent(path).path).sorted()
    }
  }

  /// The model of a store by its `modelcache.json`; nil if the store has none.
  package static func cachedModel(ofStore name: String) throws -> ModelCache? {
    let file = try folder("stores/\(name)").appendingPathComponent("modelcache.json")
    guard let data = FileManager.default.contents(atPath: file.path) else { return nil }
    return try ModelCache(data)
  }

  /// A copy of a store, with its log and the files of its values, in a temporary folder, which the caller removes.
  package static func copyOfStore(_ name: String) throws -> (folder: URL, file: URL) {
    let copy = temporaryURL("store")
    try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true)
    for file in ["store.sqlite", "store.sqlite-wal", "store.sqlite-shm", ".store_SUPPORT"] {
      let source = try folder("stores/\(name)").appendingPathComponent(file)
      guard FileManager.default.fileExists(atPath: source.path) else { continue }
      let target = copy.appendingPathComponent(file)
      try FileManager.default.copyItem(at: source, to: target)
      if file != ".store_SUPPORT" {
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: target.path)
      }
    }
    return (copy, copy.appendingPathComponent("store.sqlite"))
  }
}
