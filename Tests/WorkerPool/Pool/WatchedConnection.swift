import Foundation
import Synchronization

@testable import CoreData
@testable import CoreDataPostgreSQL

/// A connection to a server whose statements a test sees before the server gets them.
final class WatchedConnection: ServerConnection {
  /// What it throws is thrown instead of the statement's error.
  typealias Hook = @Sendable (any ServerConnection, String, ServerParameters) throws -> Void

  private static let hooks = Mutex<[String: Hook]>([:])

  /// Lets the hook see all statements of connections whose URL has `application_name=NAME`.
  static func watch(_ name: String, _ hook: @escaping Hook) {
    hooks.withLock { $0[name] = hook }
    ServerDriver.register { text in
      let connection = try ConnectionPooler.open(text)
      let name = hooks.withLock { $0.keys.first { text.contains("application_name=\($0)") } }
      guard let name else { return connection }
      let watched = WatchedConnection(connection, name)
      try watched.see("connection")
      return watched
    }
  }

  static func forget(_ name: String) { hooks.withLock { $0[name] = nil } }

  private let connection: any ServerConnection
  private let name: String

  private init(_ connection: any ServerConnection, _ name: String) {
    self.connection = connection
    self.name = name
  }

  private func see(_ sql: String, _ parameters: ServerParameters = ServerParameters()) throws {
    try Self.hooks.withLock { $0[name] }?(connection, sql, parameters)
  }

  func execute(_ sql: String, _ parameters: ServerParameters) throws -> any ServerResult {
    try see(sql, parameters)
    return try connection.execute(sql, parameters)
  }

  func pipeline(_ statements: [(sql: String, parameters: ServerParameters)]) throws -> [any ServerResult] {
    for statement in statements { try see(statement.sql, statement.parameters) }
    return try connection.pipeline(statements)
  }

  func run(_ script: String) throws {
    try see(script)
    try connection.run(script)
  }

  func stream(
    _ sql: String, _ parameters: ServerParameters, isShort: Bool, _ body: (any ServerResult) throws -> Void
  ) throws {
    try see(sql, parameters)
    try connection.stream(sql, parameters, isShort: isShort, body)
  }

  func copyRows(_ select: String, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    try see(select)
    try connection.copyRows(select, body)
  }

  func copy(_ sql: String, _ next: (inout [UInt8]) throws -> Bool) throws -> Int {
    try see(sql)
    return try connection.copy(sql, next)
  }

  func notifications() throws -> [ServerNotification] { try connection.notifications() }
  func cancel() { connection.cancel() }
  func close() { connection.close() }
  var descriptor: Int32 { connection.descriptor }
  var isInTransaction: Bool { connection.isInTransaction }
  var isLost: Bool { connection.isLost }
  var version: Int { connection.version }
}
