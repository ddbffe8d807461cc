import Foundation
import Jobs
import TestFiles
import Testing

@testable import worker_import

@Suite struct ColumnCheckTests {
  private func check(_ parameters: String, columns: [String]) throws {
    let common = #""file": "/a.csv", "entity": "Country""#
    let json = try JSONParser.parse("{\(common), \(parameters)}")
    try ImportParameters(json).check(columns: columns)
  }

  @Test(arguments: [
    (#""key": "code""#, #"no column "code", which the key needs; did you mean "Code"?"#),
    (
      #""key": "code", "map": {"Code": "code", "Nmae": "name"}"#,
      #"no column "Nmae", which "map" needs; did you mean "Name"?"#
    ),
    (
      #""key": "code", "map": {"Code": "code"}, "relationships": {"parent": {"key": "code", "value": "#
        + #""{Parnt:before:-}"}}"#,
      #"no column "Parnt", which the relationship "parent" needs; did you mean "Parent"?"#
    ),
    (
      #""key": "code", "map": {"Code": "code"}, "relationships": {"parent": {"key": "code", "value": "{Parent}", "#
        + #""prefix": "{zone}"}}"#,
      #"no column "zone", which the relationship "parent" needs; it has "Code", "Name", "Parent""#
    ),
  ])
  func aColumnThatIsMissingIsNamedWithTheNearestOne(parameters: String, message: String) throws {
    let error = #expect(throws: ColumnError.self) { try check(parameters, columns: ["Code", "Name", "Parent"]) }
    #expect(error?.description.contains(message) == true, "\(String(describing: error))")
  }

  @Test func columnsThatAreThereAreFine() throws {
    try check(
      #""key": "code", "map": {"Code": "code"}, "relationships": {"parent": {"key": "code", "value": "{Parent}"}}"#,
      columns: ["Code", "Name", "Parent"])
  }

  @Test(arguments: [("Code;Name", ";"), ("Code\tName\tParent, or none", "\\t"), ("Code|Name", "|")])
  func aWrongDelimiterIsToldWithTheHeaderAndTheLikelyOne(header: String, likely: String) throws {
    let error = #expect(throws: ColumnError.self) { try check(#""key": "Code""#, columns: [header]) }
    let text = "\(String(describing: error))"
    #expect(error?.description.contains("\"\(header)\"") == true, "\(text)")
    #expect(error?.description.hasSuffix("set \"delimiter\": \"\(likely)\"") == true, "\(text)")
  }

  @Test func anObjectInPlaceOfRowsNamesTheKeysOfItsArrays() throws {
    let file = temporaryURL("json")
    try Data(#"{"version": 1, "countries": [], "regions": [{}]}"#.utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let error = #expect(throws: RowError.self) { try JSONRows(path: file.path, root: nil) }
    #expect(error?.reason.hasSuffix(#""root" names the key of the array, here "countries" or "regions""#) == true)
    #expect(throws: JSONError.self) { try JSONRows(path: file.path, root: "version") }
  }
}
