import Foundation
import Jobs
import TestFiles
import Testing

@testable import worker_import

@Suite struct CSVReaderTests {
  /// All records of a text.
  private func read(_ text: String, delimiter: UInt8 = UInt8(ascii: ",")) throws -> [[String]] {
    try read(Array(text.utf8), delimiter: delimiter).map { $0.map(\.text) }
  }

  private func read(_ bytes: [UInt8], delimiter: UInt8 = UInt8(ascii: ",")) throws -> [[CSVReader.Field]] {
    let file = temporaryURL("csv")
    try Data(bytes).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    var reader = CSVReader(source: try ByteSource(path: file.path), delimiter: delimiter)
    var records: [[CSVReader.Field]] = []
    while let record = try reader.next() { records.append(record) }
    return records
  }

  @Test func recordsEndWithAnyLineEnd() throws {
    for end in ["\n", "\r\n", "\r"] {
      #expect(try read("a,b\(end)c,d\(end)") == [["a", "b"], ["c", "d"]])
      #expect(try read("a,b\(end)\(end)c,d") == [["a", "b"], ["c", "d"]])
    }
  }

  @Test func quotedFieldsMayHoldEverything() throws {
    #expect(
      try read("\"a,b\",\"line\r\nbreak\",\"say \"\"hi\"\"\"\nnext,,\n") == [
        ["a,b", "line\r\nbreak", "say \"hi\""], ["next", "", ""],
      ])
    #expect(try read("a\"b,c") == [["a\"b", "c"]])
  }

  @Test func anEmptyTextIsToldFromNoValue() throws {
    let record = try #require(try read(Array("\"\",".utf8)).first)
    #expect(record.map(\.isQuoted) == [true, false])
  }

  @Test func aByteOrderMarkIsSkippedAndAnotherDelimiterIsTaken() throws {
    #expect(try read("\u{FEFF}a;b\n", delimiter: UInt8(ascii: ";")) == [["a", "b"]])
  }

  @Test func aRecordMayBeLongerThanTheBlocksOfTheFile() throws {
    let long = String(repeating: "é\"\"", count: 200_000)
    #expect(try read("\"\(long)\",x\n") == [[long.replacingOccurrences(of: "\"\"", with: "\""), "x"]])
  }

  @Test(arguments: [
    ("a,\"open", "quote is not closed"), ("\"a\"b,c", "text follows the closing quote"),
  ])
  func brokenRecordsNameTheirLine(text: String, reason: String) {
    let error = #expect(throws: RowError.self) { try read("ok\n\n" + text) }
    #expect(error?.line == 3)
    #expect(error?.reason.contains(reason) == true)
  }

  @Test func bytesThatAreNoUTF8AreRefused() {
    #expect(throws: RowError.self) { try read([0x61, 0x2C, 0xFF]) }
  }
}

@Suite struct TemplateTests {
  private let row = ImportRow(
    number: 1, fields: ["code": "AZ-BAB", "parent": "NX", "n": 7, "empty": "", "none": nil, "flag": true])

  @Test(arguments: [
    ("{parent}", "NX"), ("{code:before:-}", "AZ"), ("{code:after:-}", "BAB"), ("{code:before:-}-{parent}", "AZ-NX"),
    ("x{n}y", "x7y"), ("plain", "plain"),
  ])
  func fieldsBecomeText(source: String, expected: String) throws {
    #expect(try Template(source).text(row) == expected)
  }

  @Test(arguments: ["{empty}", "{none}", "{missing}", "{flag}", "{parent:before:-}", "a{none}b"])
  func aFieldWithoutTextMakesNoText(source: String) throws {
    #expect(try Template(source).text(row) == nil)
  }

  @Test(arguments: ["{open", "{a:b}", "{a:between:x}", "{}"])
  func aTemplateThatCannotBeReadIsAnError(source: String) {
    #expect(throws: JSONFieldError.self) { try Template(source) }
  }
}
