import Jobs
import PoolClient

let fetchCommand = CommandDescription(
  name: "fetch", summary: "Print objects of a store",
  discussion: """
    Reads the store through Core Data; nothing is changed, and no pool need run. A store that a Mac, an iPhone or this
    package wrote keeps its model: without --model the file is enough. `workerpool status --store FILE` lists the
    store's entities.

      workerpool fetch Country --where "name BEGINSWITH 'A'" --sort name --store app.sqlite --model App.xcdatamodeld
    """,
  operands: [Operand(name: "ENTITY", help: "the entity whose objects are wanted")],
  options: [
    CommandOption(name: "where", value: "PREDICATE", help: "only objects that match, as in NSPredicate(format:)"),
    CommandOption(name: "sort", value: "KEYS", help: "in this order, as in \"name,-createdAt\""),
    CommandOption(name: "limit", value: "N", help: "the most objects; 0 for all", defaultText: "100, with --json 0"),
    CommandOption(name: "json", help: "print a JSON object on each line instead of a table"),
    CommonOptions.store, CommonOptions.model, CommonOptions.queue,
  ],
  run: fetch)

@Sendable private func fetch(_ arguments: ParsedArguments) throws -> ExitCode {
  let asJSON = arguments.has("json")
  let limit = try arguments.int("limit", in: 0...Int.max) ?? (asJSON ? 0 : 100)
  let query = ObjectQuery(
    entity: arguments.operands[0], predicate: arguments.string("where"), sort: arguments.string("sort"))
  let reader = try StoreReader(store: try arguments.storePath(), model: try arguments.modelPath())
  if asJSON {
    var names: [String] = []
    try reader.read(query, limit: limit, header: { names = $0 }) { uri, values in
      let members = [JSONMember("objectID", .string(uri))] + zip(names, values).map { JSONMember($0, $1) }
      Output.line(JSONValue.object(members).text)
    }
    return .success
  }
  var table = TextTable([.text("key")])
  var count = 0
  try reader.read(query, limit: limit, header: { table = TextTable(columns($0)) }) { uri, values in
    count += 1
    table.add([ObjectURI(uri)?.name ?? ""] + values.map(TextTable.cell))
  }
  for line in table.lines(Output.layout) { Output.line(line) }
  if limit > 0, count == limit { Output.error("The first \(limit); --limit asks for more.\n") }
  return .success
}

/// Where not all attributes fit, the last ones are left out.
private func columns(_ names: [String]) -> [TextTable.Column] {
  [.text("key")] + names.enumerated().map { .text($1, worth: $0 == 0 ? nil : names.count - $0) }
}
