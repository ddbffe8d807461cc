import CoreData
import Jobs

/// Jobs as the command line shows them.
public enum JobText {
  /// An empty table for ``row(_:)``.
  public static func table() -> TextTable {
    TextTable(
      ["job", "kind", "state", "priority", "attempts", "crashes", "objects", "progress", "created", "last error"],
      rightAligned: [3, 4, 5, 6])
  }

  /// The row of a job. Called on the queue of its context.
  public static func row(_ job: Job) -> [String] {
    [
      job.objectID.key.map { "p\($0)" } ?? "", job.kind, job.state.name, String(job.priority), String(job.attempt),
      String(job.crashes), String(job.objectURIs.count), progress(job), Timestamp.text(job.createdAt),
      job.failures.last.map { "\($0.type): \($0.message)" } ?? "",
    ]
  }

  private static func progress(_ job: Job) -> String {
    job.progressTotal > 0 ? "\(job.progressDone)/\(job.progressTotal)" : ""
  }

  /// The whole job. Called on the queue of its context.
  public static func json(_ job: Job) -> JSONValue {
    var members: [JSONMember] = [
      JSONMember("job", .string(job.objectID.uriRepresentation().absoluteString)),
      JSONMember("kind", .string(job.kind)), JSONMember("queue", .string(job.queue)),
      JSONMember("state", .string(job.state.name)), JSONMember("priority", .number(job.priority)),
      JSONMember("attempts", .number(job.attempt)), JSONMember("crashes", .number(job.crashes)),
      JSONMember("objects", .array(job.objectURIs.map(JSONValue.string))),
      JSONMember("results", .array(job.resultURIs.map(JSONValue.string))),
      JSONMember("parameters", (try? job.parameters) ?? .null),
      JSONMember("progressDone", .number(job.progressDone)), JSONMember("progressTotal", .number(job.progressTotal)),
      JSONMember("errors", .array(job.failures.map(\.json))),
    ]
    members.append(JSONMember("unique", .optional(job.uniqueKey)))
    members.append(JSONMember("batch", .optional(job.batch)))
    members.append(JSONMember("limitKey", .optional(job.limitKey)))
    members.append(JSONMember("options", job.options.json))
    // Most plugins that leave an output write JSON.
    members.append(JSONMember("output", job.output.map { (try? JSONParser.parse($0)) ?? .string($0) } ?? .null))
    let dates = [
      ("runAt", job.runAt), ("createdAt", job.createdAt), ("startedAt", job.startedAt), ("finishedAt", job.finishedAt),
    ]
    for (name, date) in dates { members.append(JSONMember(name, .optional(date.map(Timestamp.text)))) }
    return .object(members)
  }
}
