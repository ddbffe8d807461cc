/// The place of a store: a database of a server, and a schema in it. Made from the store's URL when the store is
/// opened.
///
/// ```text
/// postgresql://app@db.example/shop?schema=books&sslmode=require
///     connectionString   postgresql://app@db.example/shop?sslmode=require     goes to libpq as it is
///     schema             books                                                libpq would refuse it
///     description        postgresql://app@db.example/shop, schema books       for messages
///
/// postgresql://app@db.example/shop, and NSPersistentStoreTablePrefixOption: "Pool"
///     schema             pool                       without an option and a parameter: app
///
/// postgresql://app@db.example/shop?schema=books, and the same option
///     schema             books_pool
/// ```
///
/// Two URLs are the same database for a coordinator only if their texts are: `localhost` and `127.0.0.1` get
/// connections of their own, and a save to both is two transactions.
///
/// The name of the schema stands in SQL within quotes, so case matters: `schema=Books` is not `schema=books`.
struct ServerAddress: Hashable, Sendable {
  /// The URL for libpq, without the parameters that are ours.
  let connectionString: String
  /// The schema of the store's tables.
  let schema: String

  /// The schema's name has letters, digits and underscores only, since people type it. It has at most 59 bytes: the
  /// server cuts names after 63, and a migration appends "_new".
  ///
  /// - Throws: 134080 for a URL that is not one of PostgreSQL, and for another name.
  init(_ url: URL?, _ options: [AnyHashable: Any]?) throws {
    guard let url, url.isAtServer else {
      throw CoreDataErrors.error(
        .persistentStoreOpen,
        "A PostgreSQL store needs a URL such as postgresql://user@host/database\(url.map { ", not \($0.path)" } ?? "")."
      )
    }
    let parts = url.absoluteString.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let parameters = parts.count > 1 ? parts[1].split(separator: "&") : []
    let ours = parameters.first { $0.hasPrefix("schema=") }?.dropFirst("schema=".count).removingPercentEncoding
    let otherParameters = parameters.filter { !$0.hasPrefix("schema=") }.joined(separator: "&")
    connectionString = parts[0] + (otherParameters.isEmpty ? "" : "?\(otherParameters)")
    let prefix = options?[NSPersistentStoreTablePrefixOption] as? String
    // Stores with a prefix have a schema of their own beside that of the URL.
    schema = [ours ?? (prefix == nil ? "app" : nil), prefix?.lowercased()].compactMap(\.self).joined(separator: "_")
    let isName = schema.first.map { $0.isLetter || $0 == "_" } ?? false
    guard isName, schema.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" }), schema.utf8.count < 60 else {
      throw CoreDataErrors.error(
        .persistentStoreOpen,
        "The schema \"\(schema)\" has a name that is not made of letters, digits and underscores, or too long.")
    }
  }

  private init(_ connectionString: String, schema: String) {
    self.connectionString = connectionString
    self.schema = schema
  }

  /// Another schema of the same database.
  func with(schema: String) -> ServerAddress { ServerAddress(connectionString, schema: schema) }

  /// The URL with parameters of libpq, except those that it has already: what a person writes in the URL counts more
  /// than what a program prefers.
  func connectionString(with parameters: [(name: String, value: String)]) -> String {
    let missing = parameters.filter { !connectionString.contains("\($0.name)=") }.map { "\($0.name)=\($0.value)" }
    if missing.isEmpty { return connectionString }
    return connectionString + (connectionString.contains("?") ? "&" : "?") + missing.joined(separator: "&")
  }

  /// The place for messages: without password and parameters.
  var description: String { "\(serverDescription), schema \(schema)" }

  /// The server and the database, without the password.
  ///
  /// ```text
  /// postgresql://app:secret@db.example/shop?sslmode=require     postgresql://app@db.example/shop
  /// ```
  var serverDescription: String {
    let base = connectionString.split(separator: "?").first.map(String.init) ?? connectionString
    guard let start = base.range(of: "://")?.upperBound, let at = base[start...].lastIndex(of: "@"),
      let colon = base[start..<at].firstIndex(of: ":")
    else { return base }
    return base[..<colon] + String(base[at...])
  }

  /// The name of a table, type or sequence of the store in SQL, with its schema, since `search_path` is `pg_catalog`:
  /// `"app"."Book"`.
  func qualified(_ name: String) -> String { "\(schema.quotedName).\(name.quotedName)" }
}
