import Foundation
import Glibc

/// PgBouncer before a server, on a Unix socket in a directory of its own.
public final class PgBouncer {
  private static let program = "/usr/sbin/pgbouncer"
  /// Whether the package `pgbouncer` is installed.
  public static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: program) }

  /// The directory of the socket.
  public let directory: String
  private let process = Process()

  /// Starts it and waits until it listens.
  ///
  /// - Parameter settings: lines for its configuration, such as `pool_mode = session`.
  public init(before server: PostgreSQLServer, _ settings: [String]) throws {
    var template = Array("\(FileManager.default.temporaryDirectory.path)/pb-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw CocoaError(.fileWriteUnknown) }
    directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let lines =
      [
        "[databases]", "postgres = host=\(server.directory) dbname=postgres", "[pgbouncer]", "listen_addr =",
        "unix_socket_dir = \(directory)", "listen_port = 5432", "auth_type = trust",
        "auth_file = \(directory)/users", "logfile =",
      ] + settings
    try (lines.joined(separator: "\n") + "\n").write(toFile: "\(directory)/ini", atomically: false, encoding: .utf8)
    try "\"tests\" \"\"\n".write(toFile: "\(directory)/users", atomically: false, encoding: .utf8)
    var arguments = [Self.program, "\(directory)/ini"]
    if geteuid() == 0, let user = getpwnam("postgres") {
      chown(directory, user.pointee.pw_uid, user.pointee.pw_gid)
      // It refuses to run as root.
      arguments = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] + arguments
    }
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = arguments
    process.standardInput = FileHandle.nullDevice
    let log = Pipe()
    process.standardError = log
    try process.run()
    try log.fileHandleForWriting.close()
    var said = ""
    while !said.contains("process up") {
      let data = log.fileHandleForReading.availableData
      if data.isEmpty { fatalError("PgBouncer does not start: \(said)") }
      said += String(decoding: data, as: UTF8.self)
    }
    // It must be able to write on.
    log.fileHandleForReading.readabilityHandler = { _ = $0.availableData }
  }

  /// The URL of a schema.
  public func url(schema: String) -> URL {
    let host = directory.replacingOccurrences(of: "/", with: "%2F")
    return URL(string: "postgresql://tests@/postgres?host=\(host)&schema=\(schema)")!
  }

  /// Stops it and removes its directory.
  public func stop() {
    // It inherits the signals that the test's thread blocks, such as SIGTERM.
    process.send(SIGKILL)
    process.waitUntilExit()
    try? FileManager.default.removeItem(atPath: directory)
  }
}
