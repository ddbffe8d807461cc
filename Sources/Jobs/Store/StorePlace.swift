import CoreData

/// The place of a store: a SQLite file, or a schema of a PostgreSQL database, which pools of many hosts may share.
///
/// ```swift
/// let place = StorePlace("postgresql://app@db/shop?schema=books")
/// try place.check()
/// print(place.isServer, place.storeType)  // true PostgreSQL
/// ```
///
/// Commands take it as `--store`, and pass it on to other processes as it was written.
public struct StorePlace: Hashable, Sendable, CustomStringConvertible {
  /// The path of the file, or the URL of the server, as `--store` takes it.
  public let text: String

  /// The place that a text names. ``check()`` tells what is wrong with it.
  public init(_ text: String) { self.text = text }

  /// The place of an open store.
  public init(_ url: URL) { text = url.isFileURL ? url.path : url.absoluteString }

  /// Whether it is a database of a server.
  public var isServer: Bool { ["postgresql://", "postgres://"].contains { text.hasPrefix($0) } }

  /// The URL for a coordinator.
  public var url: URL { isServer ? URL(postgreSQL: text) ?? Self.nowhere : URL(fileURLWithPath: text) }

  /// The same place for a process in another working directory.
  public var absolute: StorePlace { StorePlace(url) }

  /// The place for messages. ``check()`` makes sure that it has no password.
  public var description: String { text }

  /// The type of the store.
  public var storeType: String { Self.storeType(at: url) }

  /// The type of stores at the URL.
  static func storeType(at url: URL) -> String { url.isFileURL ? NSSQLiteStoreType : NSPostgreSQLStoreType }

  private static let nowhere = URL(fileURLWithPath: "/dev/null")

  /// Refuses what no store can be at, and a URL with a password: the arguments of a process are visible to all users of
  /// its host.
  ///
  /// ```swift
  /// do { try StorePlace("postgresql://app:secret@db/shop").check() } catch { print(error) }
  /// ```
  ///
  /// Nothing is opened, and no server is asked.
  ///
  /// - Throws: ``StorePlaceError``.
  public func check() throws(StorePlaceError) {
    guard isServer else {
      let isNearlyServer = ["postgresql:", "postgres:"].contains { text.hasPrefix($0) }
      if text.hasPrefix("file:") || !text.contains("://") && !isNearlyServer { return }
      throw StorePlaceError(
        place: String(text.prefix { $0 != ":" }) + (isNearlyServer ? ":…" : "://…"),
        reason: "a store is the path of a SQLite file, or a URL such as postgresql://user@host/database")
    }
    let parts = text.split(separator: "?", maxSplits: 1).map(String.init)
    let parameters = parts.count > 1 ? parts[1].split(separator: "&") : []
    let authority = parts[0].split(separator: "/", omittingEmptySubsequences: false).dropFirst(2).first ?? ""
    let user = authority.lastIndex(of: "@").map { authority[..<$0] }
    let hasPassword = user?.contains(":") ?? false
    if hasPassword || parameters.contains(where: { $0.hasPrefix("password=") || $0.hasPrefix("sslpassword=") }) {
      throw StorePlaceError(
        place: "postgresql://…",
        reason: "the URL has a password, which every user of this host could read: put it into ~/.pgpass or PGPASSWORD")
    }
    if URL(postgreSQL: text) == nil {
      throw StorePlaceError(
        place: text,
        reason: "the URL cannot be read; a server's is postgresql://user@host/database, several are "
          + "postgresql://user@one,two:5433/database")
    }
  }
}

/// A place at which no store can be.
public struct StorePlaceError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The place, without passwords.
  public let place: String
  /// What is wrong, and what to write instead.
  public let reason: String

  /// A sentence with both.
  public var description: String { "the store \(place) cannot be opened: \(reason)" }
}
