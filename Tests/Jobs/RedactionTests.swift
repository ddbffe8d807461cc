import CoreData
import Foundation
import Testing

@testable import Jobs

/// What the pool's `--redact` hides from people.
@Suite struct RedactionTests {
  private static let parameters = #"{"user": "anna", "login": {"Password": "s3cret"}, "keys": [{"token": 17}]}"#

  @Test func valuesAreHiddenByNameAtAnyDepth() throws {
    let shown = Redaction(["password", "TOKEN"]).shown(Self.parameters, of: "parameters")
    #expect(shown == #"{"user":"anna","login":{"Password":"[redacted]"},"keys":[{"token":"[redacted]"}]}"#)
    #expect(Redaction(["user"]).shown(#"{"us\u0065r": 1}"#, of: "output") == #"{"user":"[redacted]"}"#)
    #expect(Redaction(["other"]).shown(Self.parameters, of: "parameters") == Self.parameters, "as it was written")
    #expect(Redaction().shown(Self.parameters, of: "parameters") == Self.parameters)
  }

  @Test func jsonInsideOfATextIsHiddenToo() throws {
    let output = #"{"exitCode":0,"stdout":"{\"token\": \"s3cret\", \"id\": 3}\n","stderr":"token 7"}"#
    let shown = try JSONParser.parse(Redaction(["token"]).shown(output, of: "output"))
    #expect(shown["stdout"]?.stringValue == #"{"token":"[redacted]","id":3}"#)
    #expect(shown["stderr"]?.stringValue == "token 7", "only members of JSON have names")
  }

  /// The ends of long outputs are cut off, and lines of JSON are no JSON value.
  @Test func nothingIsShownOfJSONThatCannotBeRead() throws {
    let redaction = Redaction(["token"])
    for text in [#"{"token": "s3cr"#, "{\"id\": 1}\n{\"token\": 2}", #"[{"TOKEN": "s3cret"}"#] {
      #expect(redaction.shown(text, of: "output") == "[redacted]")
    }
    #expect(redaction.shown(#"{"id": "s3cr"#, of: "output") == #"{"id": "s3cr"#)
  }

  @Test func allOfAFieldIsHiddenByTheNameOfTheField() throws {
    #expect(Redaction(["Output"]).shown("3 rows", of: "output") == "[redacted]")
    #expect(Redaction(["output"]).shown("3 rows", of: "parameters") == "3 rows")
  }

  /// The store has the names: every reader of a job finds them, and one that has asked before asks again.
  @Test(arguments: JobStoreKind.allCases) func everyReaderFindsTheNamesInTheStore(kind: JobStoreKind) throws {
    let jobs = try TemporaryJobStore(kind)
    try jobs.perform { store, context in
      try Job.submit(request { $0.parameters = Self.parameters }, into: context)
      try store.setRedaction(Redaction(["login", "token"]), in: context)
      try context.save()
    }
    try jobs.openedAgain().perform { store, context in
      let job = try #require(try context.fetch(Job.fetchRequest()).first)
      job.output = "plain"
      let shown = #"{"user":"anna","login":"[redacted]","keys":[{"token":"[redacted]"}]}"#
      #expect(job.shownParameters == shown && job.shownOutput == "plain")
      let field = try #require(JobField.all.first { $0.name == "parameters" })
      #expect(field.show?(job) == (try JSONParser.parse(shown)))
      #expect(try job.parameters["login"]?["Password"] == "s3cret", "workers get the values")
      context.rollback()
      try store.setRedaction(Redaction(), in: context)
      try context.save()
      context.forgetRedaction()
      #expect(job.shownParameters == Self.parameters)
    }
  }
}
