import Foundation
import TestFiles

/// The databases that keep jobs. What the pool asks of its store holds in each of them.
///
/// A test of one kind only says why: a file has one pool, and a server several.
enum JobStoreKind: String, CaseIterable, Sendable {
  /// A SQLite file.
  case file
  /// Schemas of a PostgreSQL server, where one is installed.
  case server

  static let allCases: [JobStoreKind] = [.file] + (PostgreSQLServer.isInstalled ? [.server] : [])

  /// The URL of a store for the path of a file.
  func place(_ file: URL) -> URL { self == .server ? PostgreSQLServer.shared.url(insteadOf: file) : file }
}
