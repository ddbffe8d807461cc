import Foundation
import Jobs
import TestFiles
import Testing

@testable import worker_import

/// A file without line ends must not fill the memory of its worker.
@Suite struct LongRecordTests {
  /// Runs the body with a file that has `text` in front and then zero bytes, which take no room on the disk, up to a
  /// size.
  private func withFile<Value>(_ text: String, size: Int, _ body: (String) throws -> Value) throws -> Value {
    let file = temporaryURL("long")
    try Data(text.utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    #expect(truncate(file.path, size) == 0)
    return try body(file.path)
  }

  private static let limit: Int64 = 1 << 20

  @Test(arguments: ["code\n\"1", "code\n1"]) func aLongRecordOfCSVIsAnErrorWithItsLine(text: String) throws {
    try withFile(text, size: 3 << 20) { path in
      var reader = CSVReader(source: try ByteSource(path: path, longestRecord: Self.limit))
      let error = #expect(throws: RowError.self) { while try reader.next() != nil {} }
      #expect(error == RowError(line: 2, reason: "is longer than 1 MiB"))
    }
  }

  @Test func aLongLineOfJSONIsAnErrorWithItsLine() throws {
    try withFile("{\"code\": 1}\n", size: 3 << 20) { path in
      var rows = JSONLinesRows(source: try ByteSource(path: path, longestRecord: Self.limit))
      let error = #expect(throws: RowError.self) { while try rows.next() != nil {} }
      #expect(error == RowError(line: 2, reason: "is longer than 1 MiB"))
    }
  }

  /// Many records may be longer together.
  @Test func recordsAreMeasuredOneByOne() throws {
    let record = String(repeating: "a", count: 400_000) + "\n"
    try withFile(String(repeating: record, count: 8), size: 8 * 400_001) { path in
      var reader = CSVReader(source: try ByteSource(path: path, longestRecord: Self.limit))
      var count = 0
      while try reader.next() != nil { count += 1 }
      #expect(count == 8)
    }
  }

  @Test func aJSONFileOfMoreThanAGibibyteIsRefused() throws {
    let error = try withFile("[]", size: (1 << 30) + 1) { path in
      #expect(throws: RowError.self) { try JSONRows(path: path, root: nil) }
    }
    #expect(error?.reason.hasSuffix("is larger than 1 GiB, and JSON is read as a whole; use jsonl or csv") == true)
  }
}
