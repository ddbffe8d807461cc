import Foundation
import LinuxSystem
import TestFiles
import Testing

@Suite struct ReplacingFileTests {
  private let directory = temporaryURL("files")

  init() throws { try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true) }

  private func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: directory.path) }

  @Test func aFileAppearsOnlyWhenItIsComplete() throws {
    defer { try? FileManager.default.removeItem(at: directory) }
    let path = directory.path + "/out.csv"
    try Data("old".utf8).write(to: URL(fileURLWithPath: path))
    do {
      let given = try ReplacingFile(path, mode: 0o600)
      try given.write(Array("half".utf8))
    }
    #expect(try names() == ["out.csv"])
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "old")

    let file = try ReplacingFile(path, mode: 0o600)
    for _ in 0..<100_000 { try file.write(Array("0123456789".utf8)) }
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "old")
    try file.complete(surviving: .power)
    #expect(try names() == ["out.csv"])
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count == 1_000_000)
  }

  @Test func whatLiesUnderTheTemporaryNameIsNotWrittenTo() throws {
    defer { try? FileManager.default.removeItem(at: directory) }
    let victim = directory.path + "/victim"
    try Data("precious".utf8).write(to: URL(fileURLWithPath: victim))
    let temporary = directory.path + "/.out.json.\(getpid()).tmp"
    try FileManager.default.createSymbolicLink(atPath: temporary, withDestinationPath: victim)
    try ReplacingFile.write("new".utf8, to: directory.path + "/out.json", mode: 0o640, surviving: .processes)
    #expect(try names().sorted() == ["out.json", "victim"])
    #expect(try String(contentsOfFile: victim, encoding: .utf8) == "precious")
    var status = stat()
    #expect(stat(directory.path + "/out.json", &status) == 0 && status.st_mode & 0o137 == 0 && status.st_size == 3)
  }

  /// One writer | the other
  /// -----------|----------
  /// begins     |
  ///            | begins
  /// completes  |
  ///            | completes
  @Test func twoWritersOfOneProcessDoNotMixTheirFiles() throws {
    defer { try? FileManager.default.removeItem(at: directory) }
    let path = directory.path + "/out.csv"
    let first = try ReplacingFile(path, mode: 0o600)
    try first.write(Array("first".utf8))
    let second = try ReplacingFile(path, mode: 0o600)
    try second.write(Array("second".utf8))
    try first.complete(surviving: .processes)
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "first")
    try second.complete(surviving: .processes)
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "second")
    #expect(try names() == ["out.csv"])
  }

  @Test func aDirectoryThatIsNotThereIsNamed() {
    try? FileManager.default.removeItem(at: directory)
    for attempt in [
      { _ = try ReplacingFile("/nowhere/out.csv", mode: 0o600) }, { try synchronizeDirectory("/nowhere") },
    ] as [() throws -> Void] {
      let error = #expect(throws: FileError.self) { try attempt() }
      #expect(error?.description.contains("/nowhere") == true && error?.errno == ENOENT)
    }
  }
}
