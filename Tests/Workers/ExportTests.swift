import Foundation
import Jobs
import Testing

@testable import worker_export

@Suite struct ExportTests {
  @Test func csvIsQuotedWhereItMustBe() {
    let writer = RecordWriter(format: .csv, names: ["a", "b,c"])
    #expect(String(decoding: writer.header, as: UTF8.self) == "a,\"b,c\"\r\n")
    let row = writer.row(["plain", "say \"hi\"", "", nil, 5, true, "two\nlines", " space"])
    #expect(
      String(decoding: row, as: UTF8.self) == "plain,\"say \"\"hi\"\"\",\"\",,5,true,\"two\nlines\",\" space\"\r\n")
  }
}
