import Foundation
import Jobs
import Testing

@testable import worker_export

@Suite struct ExportTests {
  @Test func csvIsQuotedWhereItMustBe() {
    let writer = RowWriter(format: .csv, names: ["a", "b,c"])
    #expect(String(decoding: writer.header, as: UTF8.self) == "a,\"b,c\"\r\n")
    let row = writer.row(["plain", "say \"hi\"", "", nil, 5, true, "two\nlines", " space"])
    #expect(
      String(decoding: row, as: UTF8.self) == "plain,\"say \"\"hi\"\"\",\"\",,5,true,\"two\nlines\",\" space\"\r\n")
  }

  @Test func aFileAppearsOnlyWhenItIsComplete() throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("export-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let path = directory.appendingPathComponent("out.csv").path
    func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: directory.path) }

    try Data("old".utf8).write(to: URL(fileURLWithPath: path))
    do {
      let given = try ReplacingFile(path: path)
      try given.write(Array("half".utf8))
    }
    #expect(try names() == ["out.csv"])
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "old")

    let file = try ReplacingFile(path: path)
    for _ in 0..<100_000 { try file.write(Array("0123456789".utf8)) }
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "old")
    try file.complete()
    #expect(try names() == ["out.csv"])
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count == 1_000_000)
  }

  @Test func aDirectoryThatIsNotThereIsNamed() {
    let error = #expect(throws: FileError.self) { try ReplacingFile(path: "/nowhere/out.csv") }
    #expect(error?.description.contains("/nowhere/") == true)
  }
}
