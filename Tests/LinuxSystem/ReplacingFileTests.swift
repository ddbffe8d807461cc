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

  @Test func temporaryNamesAreToldFromOthers() throws {
    defer { try? FileManager.default.removeItem(at: directory) }
    let path = directory.path + "/out.csv"
    let files = try (0..<2).map { _ in try ReplacingFile(path, mode: 0o600) }
    let names = try names()
    #expect(names.count == 2 && names.allSatisfy(ReplacingFile.isTemporaryName))
    for name in ["out.csv", ".out.csv", ".out.csv.tmp", "out.csv.1.tmp", ".tmp", ".1.tmp", "..tmp", ".a.1x.tmp"] {
      #expect(!ReplacingFile.isTemporaryName(name), "\(name)")
    }
    withExtendedLifetime(files) {}
  }

  /// A killed export leaves what it has written, under a name with its process ID.
  @Test func whatKilledProcessesHaveLeftIsRemoved() throws {
    defer { try? FileManager.default.removeItem(at: directory) }
    let path = directory.path + "/out.csv"
    let others = [".out.csv.new.1.tmp", ".out.csv.tmp", "out.csv.1.tmp", ".other.csv.1.tmp", ".out.csv.1x.tmp"]
    for name in [".out.csv.1.tmp", ".out.csv.12.1.tmp"] + others {
      try Data("half".utf8).write(to: directory.appendingPathComponent(name))
    }
    let running = try ReplacingFile(path, mode: 0o600)
    ReplacingFile.removeAbandoned(of: path)
    #expect(try names().sorted() == (others + [".out.csv.\(getpid()).tmp"]).sorted())
    try running.complete(surviving: .processes)
    #expect(try names().sorted() == (others + ["out.csv"]).sorted())
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

  /// Run by root, a rename would put a file into the place of a device.
  @Test func nothingButARegularFileIsReplaced() throws {
    defer { try? FileManager.default.removeItem(at: directory) }
    let (pipe, link, folder) = (directory.path + "/pipe", directory.path + "/link", directory.path + "/folder")
    #expect(mkfifo(pipe, 0o600) == 0 && mkdir(folder, 0o700) == 0)
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: directory.path + "/target")
    for (path, kind) in [(pipe, "a named pipe"), (link, "a symbolic link"), (folder, "a directory")] {
      let error = #expect(throws: FileError.self) { _ = try ReplacingFile(path, mode: 0o600) }
      #expect(error?.description == "\(path) is \(kind), which is never replaced; choose another path")
    }
    // One that appears while the file is written is not replaced either.
    let late = directory.path + "/late"
    let file = try ReplacingFile(late, mode: 0o600)
    #expect(mkfifo(late, 0o600) == 0)
    #expect(throws: FileError.self) { try file.complete(surviving: .processes) }
    var status = stat()
    #expect(lstat(late, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
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
