import Foundation
import Testing

/// Values that `workerpool run --redact` hides, looked for in all that people are shown.
@Suite(.serialized) struct RedactionTests {
  @Test(.timeLimit(.minutes(20))) func hiddenValuesAreShownNowhereAndCannotBeFound() throws {
    let place = try TestPlace()
    let script = try place.write(
      "#!/bin/sh\necho \"{\\\"token\\\": \\\"$1\\\", \\\"rows\\\": 3}\"\n", to: "script.sh", mode: 0o755)
    try place.write(
      #"{"commands": {"script": {"path": "\#(script)", "jobArguments": true}}}"#, to: "queue/exec.json", mode: 0o600)
    let pool = try RunningPool(
      place, store: place.path("items.sqlite"), model: try ISOCodesModel.write(into: place),
      plugins: try place.plugins("worker-exec"), options: ["--redact", "token,Arguments"])
    let parameters = #"{"command": "script", "arguments": ["hidden17"]}"#
    let waited = try pool.command("submit", "exec", "--parameters", parameters, "--wait")
    #expect(waited.code == 0 && waited.output.contains("rows") && !waited.output.contains("hidden17"))
    #expect(waited.output.contains("[redacted]"), "\(waited.output)")

    for words in [
      ["jobs", "--json"], ["jobs", "show", "p1"], ["jobs", "show", "p1", "--json"], ["status", "--json"],
    ] {
      let shown = try run(Built.path("workerpool"), words + ["--queue", pool.queue])
      #expect(shown.code == 0 && !shown.output.contains("hidden17"), "\(words): \(shown.output)")
      #expect(words[0] == "status" || shown.output.contains("[redacted]"), "\(words): \(shown.output)")
    }
    let web = try RunningWeb(queue: pool.queue)
    let client = try web.client()
    let page = try client.get("/jobs/p1").body
    #expect(page.contains("[redacted]") && page.contains("rows") && !page.contains("hidden17"), "\(page)")
    // What a search finds, or does not find, would tell of the values.
    #expect(try client.get("/jobs?search=hidden17").body.contains("No job fits"))
    #expect(try client.get("/jobs?where=parameters%20CONTAINS%20%27hidden1%27").status == 400)
    #expect(try client.get("/jobs?where=OUTPUT%20CONTAINS%20%27hidden1%27").status == 400)
    #expect(try client.get("/change?do=delete&where=parameters%20CONTAINS%20%27hidden1%27").status == 400)
    // Without a pool the store says the same.
    try pool.stop()
    let later = try workerpool("jobs", "--json", "--store", pool.store)
    #expect(later.output.contains("[redacted]") && !later.output.contains("hidden17"), "\(later.output)")
  }
}
