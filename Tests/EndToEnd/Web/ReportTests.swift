import Foundation
import Testing

/// `workerpool report`: a page in one file.
@Suite(.serialized) struct ReportTests {
  @Test(.timeLimit(.minutes(20)))
  func theReportTellsOutcomesAndFailuresWithoutScriptOrNetwork() throws {
    let items = try ItemPool(items: 3)
    let pool = try items.start()
    try items.submit("add")
    try pool.waitForJobs(3)
    try items.submit("misbehave", items: [items.items[0]], ["--set", "how=<b>&", "--max-attempts", "1"])
    try pool.wait { $0.jobs?["dead"] == 1 }
    let file = items.place.path("report.html")
    let finished = try pool.command("report", "--since", "90min", "--output", file)
    #expect(finished.code == 0, "\(finished.errors)")
    try pool.stop()

    let page = try String(contentsOfFile: file, encoding: .utf8)
    #expect(page.hasPrefix("<!DOCTYPE html>"))
    #expect(page.contains("<strong>3</strong>") && page.contains("<strong>1</strong>"))
    #expect(page.contains("PermanentFailure: it is not known how to &lt;b&gt;&amp;"))
    #expect(page.components(separatedBy: "<figure").count == 4)
    for foreign in ["<script", "http:", "https:", "src=", "@import", "<b>"] {
      #expect(!page.contains(foreign), "\(foreign)")
    }

    // Without a pool the store is named.
    let again = try run(
      Built.path("workerpool"), ["report", "--store", items.store, "--output", file, "--queue", items.queue])
    #expect(again.code == 0, "\(again.errors)")
    // Nothing else is replaced: the program does not know what a pool needs.
    let notes = try items.place.write("{}", to: "exec.json")
    let refused = try run(Built.path("workerpool"), ["report", "--store", items.store, "--output", notes])
    #expect(refused.code == 2 && refused.errors.contains("holds something other than a page"), "\(refused.errors)")
    #expect(try String(contentsOfFile: notes, encoding: .utf8) == "{}")
    // The pool would take it for a job file.
    let incoming = items.queue + "/incoming/report.html"
    let taken = try run(
      Built.path("workerpool"), ["report", "--store", items.store, "--output", incoming, "--queue", items.queue])
    #expect(taken.code == 2 && taken.errors.contains("lies in the queue directory"), "\(taken.errors)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: items.queue + "/incoming").isEmpty)
    let none = try run(Built.path("workerpool"), ["report", "--output", file, "--queue", items.queue])
    #expect(none.code == 3 && none.errors.contains("--store names the store"), "\(none.errors)")
    let wrong = try run(Built.path("workerpool"), ["report", "--since", "soon", "--queue", items.queue])
    #expect(wrong.code == 2 && wrong.errors.contains("90min, 24h or 7d"), "\(wrong.errors)")
    let noStore = try run(Built.path("workerpool"), ["report", "--store", items.place.path("none.sqlite")])
    #expect(noStore.code == 1 && noStore.errors.contains("there is no store at"), "\(noStore.errors)")
  }
}
