import Jobs
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
      #""key": "code", "map": {"Code": "code"}, "relationships": {"parent": {"key": "code", "value": "{Parnt:before:-}"}}"#,
      #"no column "Parnt", which the relationship "parent" needs; did you mean "Parent"?"#
    ),
    (
      #""key": "code", "map": {"Code": "code"}, "relationships": {"parent": {"key": "code", "value": "{Parent}", "prefix": "{zone}"}}"#,
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
}
