import Foundation
import PoolClient
import Testing

/// Failed jobs by kind and error: on the command line, on the web, and in the library.
@Suite(.serialized) struct FailureGroupTests {
  @Test(.timeLimit(.minutes(20)))
  func aGroupIsListedRetriedAndDeletedByItsError() throws {
    // Given three jobs that fail alike, but for a number, and one that fails otherwise.
    let items = try ItemPool(items: 4)
    let pool = try items.start()
    for number in 1...3 {
      try items.submit(
        "misbehave", items: [items.items[number]], ["--set", "how=way \(number)", "--max-attempts", "1"])
    }
    try items.submit("fail", items: [items.items[0]], ["--max-attempts", "1"])
    try pool.wait { $0.jobs?["dead"] == 4 }

    let listed = try pool.command("failures", "--json")
    let groups = try listed.output.split(separator: "\n").map { try JSONParser.parse(String($0)) }
    #expect(groups.count == 2, "\(listed)")
    #expect(groups.first?["dead"]?.intValue == 3 && groups.first?["kind"]?.stringValue == "misbehave")
    let error = try #require(groups.first?["error"]?.stringValue)
    #expect(error.hasSuffix("way #"), "\(error)")
    let table = try pool.command("failures")
    #expect(table.output.contains(error) && table.output.contains("workerpool retry --queue"), "\(table)")
    #expect(try pool.command("status").output.contains("failed jobs\n"))

    // When a person pastes the error of one job, all three are meant.
    let pasted = error.dropLast() + "7"
    let chosen = try pool.command("jobs", "--error", String(pasted), "--json")
    #expect(chosen.output.split(separator: "\n").count == 3, "\(chosen)")
    let dry = try pool.command("retry", "--error", error, "--dry-run")
    #expect(dry.output == "3 jobs match: 3 dead\n", "\(dry)")
    let retried = try pool.command("retry", "--state", "dead", "--kind", "misbehave", "--error", error, "--yes")
    #expect(retried.output == "3 of 3 jobs will run again\n", "\(retried)")
    try pool.wait { $0.jobs?["dead"] == 4 && $0.counters.failed == 7 }

    // Then the web shows the groups, and deletes one.
    let web = try RunningWeb(queue: items.queue)
    let client = try web.client()
    try waitUntil("the overview shows the groups") { try client.get("/").body.contains("id=\"failures\"") }
    #expect(try client.get("/").body.contains(">\(error)</a>"))
    let fields = ["state": "dead", "kind": "misbehave", "error": error]
    let address = fields.map { "\($0)=\($1.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")" }
    let list = try client.get("/jobs?" + address.joined(separator: "&"))
    #expect(list.body.contains(">3 jobs<") && list.body.contains("name=\"error\""), "\(list.body)")
    let preview = try client.get("/change?do=delete&" + address.joined(separator: "&"))
    #expect(preview.body.contains("Delete 3 jobs?"), "\(preview.body)")
    let key = try #require(preview.formKey)
    let answer = try client.post(
      "/change", fields.merging(["key": key, "do": "delete", "confirmed": "yes"]) { first, _ in first })
    #expect(answer.status == 303)
    try pool.wait { $0.jobs?["dead"] == 1 }
    #expect(try pool.command("failures", "--kind", "misbehave").output == "no failed jobs\n")
    try pool.stop()
  }
}
