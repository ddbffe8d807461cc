import Foundation
import PoolClient

let webCommand = CommandDescription(
  name: "web", summary: "Show the pool in the browser",
  discussion: """
    Prints a URL with a token, which opens the pages, and serves them until Ctrl-C. The pages are a program of their own,
    workerpool-web, beside this one; they can neither slow nor break the pool.

      workerpool web --queue queue/
      workerpool web --queue queue/ --socket /run/workerpool/web.sock --host jobs.example.org --read-only
    """,
  options: [
    CommonOptions.queue, CommonOptions.store,
    CommandOption(
      name: "port", value: "N", help: "the port on 127.0.0.1; 0 takes any that is free", defaultText: "8088"),
    CommandOption(
      name: "socket", value: "PATH", help: "listen on this Unix socket instead, which only this user may use"),
    CommandOption(
      name: "host", value: "NAME", help: "a name, with its port if it has one, under which a proxy leads to the pages",
      isRepeating: true),
    CommandOption(name: "read-only", help: "show the pages without forms, and accept no changes"),
  ],
  run: web)

/// Turns this process into `workerpool-web`.
@Sendable private func web(_ arguments: ParsedArguments) throws -> ExitCode {
  var words = ["--queue", arguments.queue]
  let port = try arguments.int("port", in: 0...65_535)
  if port != nil, arguments.has("socket") { throw UsageError("--port and --socket cannot be given together") }
  if let port { words += ["--port", String(port)] }
  if let store = arguments.string("store") { try StoreReader.requireStore(store) }
  for name in ["store", "socket"] {
    if let value = arguments.string(name) { words += ["--\(name)", value] }
  }
  for host in arguments.strings("host") { words += ["--host", host] }
  if arguments.has("read-only") { words.append("--read-only") }
  try BesideProgram.become("workerpool-web", words)
}
