import Foundation
import TestFiles
import Testing

@testable import CoreData

/// Models and stores that Apple's tools made, if they lie beside the package.
enum ModelFixtures {
  /// The folder of fixtures; nil if this machine has none. Tests that need it are then skipped and say so.
  static let root: URL? = {
    let environment = ProcessInfo.processInfo.environment["WORKERPOOL_FIXTURES"]
    let beside = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("../shared/fixtures").standardizedFileURL
    let root = environment.map { URL(fileURLWithPath: $0) } ?? beside
    return FileManager.default.fileExists(atPath: root.path) ? root : nil
  }()

  static var areMissing: Bool { root == nil }

  static func folder(_ path: String) throws -> URL {
    try #require(root, "no fixtures: set WORKERPOOL_FIXTURES").appendingPathComponent(path)
  }

  /// The names in a folder of the fixtures.
  static func names(in path: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder(path).path).sorted()
  }

  /// The model of a store by its `modelcache.json`; nil if the store has none.
  static func cachedModel(ofStore name: String) throws -> ModelCache? {
    let file = try folder("stores/\(name)/modelcache.json")
    guard let data = FileManager.default.contents(atPath: file.path) else { return nil }
    return try ModelCache(data)
  }

  /// A copy of a store (with its -wal and -shm) in a temporary folder, which the caller removes.
  static func copyOfStore(_ name: String) throws -> (folder: URL, file: URL) {
    let copy = temporaryURL("store")
    try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true)
    for suffix in ["", "-wal", "-shm"] {
      let source = try folder("stores/\(name)/store.sqlite\(suffix)")
      guard FileManager.default.fileExists(atPath: source.path) else { continue }
      let target = copy.appendingPathComponent("store.sqlite\(suffix)")
      try FileManager.default.copyItem(at: source, to: target)
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: target.path)
    }
    return (copy, copy.appendingPathComponent("store.sqlite"))
  }
}
