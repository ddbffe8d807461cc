import Foundation
import TestFiles
import Testing

/// A temporary directory for one test, and what the tests need from outside it.
final class TestPlace {
  let url: URL

  init() throws {
    url = temporaryURL("e2e")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  func path(_ name: String) -> String { url.appendingPathComponent(name).path }

  /// Writes a text file, with this mode if there is one, and returns its path.
  @discardableResult
  func write(_ text: String, to name: String, mode: mode_t? = nil) throws -> String {
    let file = url.appendingPathComponent(name)
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: file)
    if let mode { try #require(chmod(file.path, mode) == 0) }
    return file.path
  }

  /// A directory of plugins: links to the built executables of these names.
  func plugins(_ names: String...) throws -> String {
    let directory = url.appendingPathComponent("plugins")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    for name in names {
      try FileManager.default.createSymbolicLink(
        atPath: directory.appendingPathComponent(name).path, withDestinationPath: Built.path(name))
    }
    return directory.path
  }
}

/// The executables that the package's build has put beside the tests.
enum Built {
  static let directory: String = {
    let executable = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return URL(fileURLWithPath: executable).deletingLastPathComponent().path
  }()

  static func path(_ name: String) -> String { directory + "/" + name }
}

/// Stores and models that former programs made: those of `Tests/Fixtures`, and those of Apple's Core Data, which lie
/// outside the repository.
enum Fixtures {
  private static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
  private static let ownFolder = tests.appendingPathComponent("Fixtures").path

  private static let apple: String? = {
    let named = ProcessInfo.processInfo.environment["WORKERPOOL_FIXTURES"]
    let package = tests.deletingLastPathComponent()
    let folder = named ?? package.deletingLastPathComponent().appendingPathComponent("shared/fixtures").path
    return FileManager.default.fileExists(atPath: folder) ? folder : nil
  }()

  /// The arguments of a test: those for the repository's files, and those for Apple's if they are there.
  static func arguments<Argument>(own: [Argument], apple: [Argument]) -> [Argument] {
    self.apple == nil ? own : own + apple
  }

  /// Copies a store, with its log and the files of its values, into a place and returns the copy's path, and that of
  /// the model.
  static func copy(_ name: String, model: String, into place: TestPlace) throws -> (store: String, model: String) {
    let source = try #require(
      [ownFolder, apple].compactMap { $0.map { $0 + "/stores/" + name } }
        .first { FileManager.default.fileExists(atPath: $0) })
    for file in ["store.sqlite", "store.sqlite-wal", ".store_SUPPORT"] {
      guard FileManager.default.fileExists(atPath: source + "/" + file) else { continue }
      try FileManager.default.copyItem(atPath: source + "/" + file, toPath: place.path(file))
    }
    return (place.path("store.sqlite"), source + "/model/" + model)
  }
}

/// The Debian package `iso-codes`.
enum ISOCodes {
  static let directory = "/usr/share/iso-codes/json"
  static var areThere: Bool { FileManager.default.fileExists(atPath: directory + "/iso_3166-2.json") }
}
