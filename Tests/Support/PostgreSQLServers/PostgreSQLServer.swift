import Foundation
import Glibc

/// A PostgreSQL server for the tests of this process, in a temporary directory, on a Unix socket.
///
/// It ends when the process ends, in whatever way: a shell holds the other end of a pipe and notices. As root, it runs
/// as the user `postgres`, since PostgreSQL refuses to run as root.
public final class PostgreSQLServer: Sendable {
  /// The directory with the server's programs; nil where PostgreSQL is not installed.
  public static let programs: String? = {
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
    let newest = versions.max { (Int($0) ?? 0) < (Int($1) ?? 0) }
    guard let newest, FileManager.default.fileExists(atPath: "/usr/lib/postgresql/\(newest)/bin/initdb") else {
      let line = "PostgreSQL is not installed (package postgresql): the tests that need a server are left out.\n"
      FileHandle.standardError.write(Data(line.utf8))
      return nil
    }
    return "/usr/lib/postgresql/\(newest)/bin"
  }()

  /// Whether PostgreSQL is installed.
  public static var isInstalled: Bool { programs != nil }

  /// The server that most tests share, started at its first use.
  public static let shared = PostgreSQLServer(["fsync=off", "full_page_writes=off", "synchronous_commit=off"])

  /// The directory of the socket.
  public let directory: String
  private let process: pid_t
  /// The shell stops the server when this is closed.
  private let descriptor: Int32

  /// Starts a server with these settings and waits until it answers.
  ///
  /// - Parameter primary: the server of which it is a standby; nil for a new one.
  public init(_ settings: [String], standbyOf primary: PostgreSQLServer? = nil) {
    var template = Array("\(FileManager.default.temporaryDirectory.path)/pg-XXXXXX".utf8CString)
    guard let programs = Self.programs, mkdtemp(&template) != nil else { fatalError("No server can be started.") }
    directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    var asUser = ""
    if geteuid() == 0, let user = getpwnam("postgres") {
      chown(directory, user.pointee.pw_uid, user.pointee.pw_gid)
      asUser = "setpriv --reuid=postgres --regid=postgres --clear-groups"
    }
    let options = (settings + ["listen_addresses=", "unix_socket_directories=\(directory)", "max_connections=200"])
      .map { "-c '\($0)'" }.joined(separator: " ")
    let creation =
      primary.map { "pg_basebackup -D data -U tests -h '\($0.directory)' -R -X stream --checkpoint=fast --no-sync" }
      ?? "initdb -D data -U tests -A trust --no-sync -E UTF8 --locale=C"
    // The server's log goes through a pipe: one of its lines says that it answers, and its end that it has failed.
    let server = """
      cd "$0" && "$1"/\(creation) >log 2>&1 && mkfifo lines &&
      { "$1"/postgres -D data \(options) >lines 2>&1 </dev/null & } && pid=$! &&
      { { while read -r line; do
            echo "$line" >&3
            case $line in *"ready to accept"*) echo ready; exec >&3; cat; exit;; esac
          done; echo ended; } <lines 3>>log & } &&
      {
        cat >/dev/null
        # Another process or thread may have the number of a server that was killed, but not this shell as its parent.
        read -r _ _ _ parent _ 2>/dev/null </proc/$pid/stat && [ "$parent" = $$ ] && kill -QUIT $pid
        wait
      }
      """
    let script = "\(asUser) sh -c '\(server.replacingOccurrences(of: "'", with: "'\\''"))' \"$0\" \"$1\"; rm -rf \"$0\""
    var (input, output): ([Int32], [Int32]) = ([0, 0], [0, 0])
    guard pipe(&input) == 0, pipe(&output) == 0 else { fatalError("pipe: \(errno)") }
    for end in input + output { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_adddup2(&actions, input[0], 0)
    posix_spawn_file_actions_adddup2(&actions, output[1], 1)
    // Foundation makes descriptors that children inherit, and takes another test's program for alive while a child has
    // one of them: the server would for as long as it runs. Those that are not open are passed over.
    for descriptor in 3..<1024 as Range<Int32> { posix_spawn_file_actions_addclose(&actions, descriptor) }
    let texts: [String] = ["sh", "-c", script, directory, programs]
    let arguments: [UnsafeMutablePointer<CChar>?] = texts.map { strdup($0) } + [nil]
    var process: pid_t = 0
    guard posix_spawn(&process, "/bin/sh", &actions, nil, arguments, environ) == 0 else { fatalError("\(errno)") }
    for argument in arguments { free(argument) }
    posix_spawn_file_actions_destroy(&actions)
    close(input[0])
    close(output[1])
    var answer = [UInt8](repeating: 0, count: 6)
    guard read(output[0], &answer, 6) == 6, answer == Array("ready\n".utf8) else {
      let log = (try? String(contentsOfFile: "\(directory)/log", encoding: .utf8)) ?? "no log"
      fatalError("The server does not start: \(log)")
    }
    close(output[0])
    self.process = process
    descriptor = input[1]
    atexit { if PostgreSQLServer.isShared { PostgreSQLServer.shared.stop() } }
    Self.isShared = true
  }

  /// `nonisolated(unsafe)`: set before tests use a server, and read when the process ends.
  nonisolated(unsafe) private static var isShared = false

  /// Kills the server with all its sessions at once, as when its host loses its power.
  public func kill9() {
    let file = (try? String(contentsOfFile: "\(directory)/data/postmaster.pid", encoding: .utf8)) ?? ""
    // Where the server has ended, its number may be another process's, or nobody's: then its name cannot be read.
    guard let postmaster = file.split(separator: "\n").first.flatMap({ pid_t($0) }),
      (try? String(contentsOfFile: "/proc/\(postmaster)/comm", encoding: .utf8)) == "postgres\n"
    else { return }
    // No session can begin while the others are killed.
    kill(postmaster, SIGSTOP)
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    for process in names.compactMap({ pid_t($0) }) where Self.parent(of: process) == postmaster {
      kill(process, SIGKILL)
    }
    kill(postmaster, SIGKILL)
  }

  private static func parent(of process: pid_t) -> pid_t? {
    // Source: proc(5): the fourth field, behind the program's name in parentheses.
    let fields = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8))?.components(separatedBy: ") ")
    return fields?.last?.split(separator: " ").dropFirst().first.flatMap { pid_t($0) }
  }

  /// Runs statements, as `psql -Atc` does.
  ///
  /// - Returns: the rows of all results, a line each, the values divided by `|`.
  @discardableResult
  public func psql(_ script: String) throws -> String { try PostgreSQLServer.psql(script, at: address()) }

  /// Statements that were not run to their end, and what the server said.
  public struct ScriptFailure: Error {
    /// What was to be run.
    public let script: String
    /// The server's message, or libpq's.
    public let complaint: String
  }

  /// The definitions of a table's indexes, one a line.
  ///
  /// The view `pg_indexes` would do for a schema's, but fails when another test drops an index of its own meanwhile.
  ///
  /// - Parameter table: its name, quoted as SQL wants it.
  public func indexes(of table: String) throws -> String {
    try psql("SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = '\(table)'::regclass ORDER BY 1")
  }

  /// Runs statements at an address of libpq, as `psql -Atc` does.
  public static func psql(_ script: String, at address: String) throws -> String {
    let session = Session(address)
    defer { session.close() }
    return try session.run(script)
  }

  /// Stops the server and removes its directory.
  public func stop() {
    close(descriptor)
    var status: Int32 = 0
    waitpid(process, &status, 0)
  }

  /// The URL of a schema of the database that every server has.
  public func url(schema: String, user: String = "tests", database: String = "postgres") -> URL {
    URL(string: "\(address(user: user, database: database))&schema=\(schema)")!
  }

  /// The same without a schema, as libpq takes it.
  public func address(user: String = "tests", database: String = "postgres") -> String {
    "postgresql://\(user)@/\(database)?host=\(directory.replacingOccurrences(of: "/", with: "%2F"))"
  }

  /// The schema for a path of a file, which is the same for the same path.
  public func url(insteadOf file: URL) -> URL {
    // FNV-1a.
    let hash = file.path.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    return url(schema: "s\(String(hash, radix: 16))")
  }
}
