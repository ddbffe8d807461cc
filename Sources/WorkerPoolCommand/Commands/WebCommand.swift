import Foundation
import LinuxSystem
import PoolClient

let webCommand = CommandDescription(
  name: "web", summary: "Show the pool in the browser",
  discussion: """
    Prints a URL with a token, which opens the pages, and serves them until Ctrl-C. The pages are a program of their
    own, workerpool-web, beside this one; they can neither slow nor break the pool.

      workerpool web --queue queue/
      workerpool web --queue queue/ --socket /run/workerpool/web.sock --host jobs.example.org --read-only

    With --token-file it prints no token. Each line of that file is a token of at least 32 characters, then what it
    allows, look or operate, and the name of who has it. Without a role it is operate:

      8d969eef6ecad3c29a3a629280e686cf0c3f5d5a86aff3ca  operate  Anna   # from: openssl rand -hex 24

    A service manager may pass the socket on which it serves, as the units of the package do; then there is no --port.

    Programs that look after the pool ask for /healthz, /readyz, and with a token /metrics:

      curl --header 'Authorization: Bearer TOKEN' http://127.0.0.1:8088/metrics
    """,
  options: [
    CommandOption(
      name: "config", value: "FILE", help: "take options from this file, too: a name and its value on each line"),
    CommonOptions.queue, CommonOptions.store,
    CommandOption(
      name: "port", value: "N", help: "the port on 127.0.0.1; 0 takes any that is free", defaultText: "8088"),
    CommandOption(
      name: "socket", value: "PATH", help: "listen on this Unix socket instead, which only this user may use"),
    CommandOption(
      name: "host", value: "NAME", help: "a name, with its port if it has one, under which a proxy leads to the pages",
      isRepeating: true),
    CommandOption(name: "read-only", help: "show the pages without forms, and accept no changes"),
    CommandOption(
      name: "token-file", value: "FILE",
      help: "take the tokens of this file, which only this user may read, in place of a random one"),
    CommandOption(
      name: "session-hours", value: "N", help: "hours from the last use of a browser until it is logged out",
      defaultText: "12"),
  ],
  run: web)

/// Turns this process into `workerpool-web`.
@Sendable private func web(_ arguments: ParsedArguments) throws -> ExitCode {
  try BesideProgram.become("workerpool-web", try arguments.withFile("config", words))
}

/// The command line of `workerpool-web`.
private func words(_ arguments: ParsedArguments) throws -> [String] {
  var words = ["--queue", arguments.queue]
  let port = try arguments.int("port", in: 0...65_535)
  if port != nil, arguments.has("socket") { throw UsageError("--port and --socket cannot be given together") }
  if let port { words += ["--port", String(port)] }
  if let store = arguments.string("store") { try StoreReader.requireStore(store) }
  if let hours = try arguments.number("session-hours", in: 0.01...8760) { words += ["--session-hours", String(hours)] }
  for name in ["store", "socket", "token-file"] {
    if let value = arguments.string(name) { words += ["--\(name)", value] }
  }
  for host in arguments.strings("host") { words += ["--host", host] }
  if arguments.has("read-only") { words.append("--read-only") }
  return words
}
