import Foundation
import LinuxSystem
import TestFiles
import Testing

@Suite struct GuardedFileTests {
  private let directory = temporaryURL("files")

  init() throws { try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true) }

  private func path(_ name: String) -> String { directory.path + "/" + name }

  private func refusal(_ name: String, limit: Int = 100) -> String? {
    do throws(GuardedFile.Refusal) {
      _ = try GuardedFile(path(name), path: path(name)).bytes(atMost: limit)
      return nil
    } catch {
      return "\(error)"
    }
  }

  @Test func aRegularFileIsReadWhole() throws {
    defer { try? FileManager.default.removeItem(at: directory) }
    let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
    try Data(bytes).write(to: URL(fileURLWithPath: path("file")))
    let file = try GuardedFile(path("file"), path: path("file"))
    #expect(try file.bytes(atMost: 100_000) == bytes)
    #expect(file.isOwn && file.status.st_size == 100_000)
    #expect(refusal("file", limit: 99_999) == "is too large")
  }

  @Test func nothingElseIsOpened() throws {
    defer { try? FileManager.default.removeItem(at: directory) }
    try Data("text".utf8).write(to: URL(fileURLWithPath: path("file")))
    try FileManager.default.createSymbolicLink(atPath: path("link"), withDestinationPath: path("file"))
    #expect(mkfifo(path("pipe"), 0o600) == 0)
    #expect(mkdir(path("directory"), 0o700) == 0)
    #expect(refusal("link") == "is a symbolic link; a regular file is expected")
    #expect(refusal("pipe") == "is not a regular file", "and nobody waits for a writer")
    #expect(refusal("directory") == "is not a regular file")
    #expect(refusal("missing") == "is not there")
  }

  ///     reader                      writer
  ///     opens the file
  ///                                 adds a byte
  ///     reads: more than there was
  @Test func aFileThatGrowsMeanwhileIsNotRead() throws {
    defer { try? FileManager.default.removeItem(at: directory) }
    try Data("text".utf8).write(to: URL(fileURLWithPath: path("file")))
    let file = try GuardedFile(path("file"), path: path("file"))
    let writer = try FileHandle(forWritingTo: URL(fileURLWithPath: path("file")))
    try writer.seekToEnd()
    try writer.write(contentsOf: Data("s".utf8))
    let error = #expect(throws: GuardedFile.Refusal.self) { try file.bytes(atMost: 100) }
    #expect(error.map { "\($0)" } == "changes while it is read")
  }
}
