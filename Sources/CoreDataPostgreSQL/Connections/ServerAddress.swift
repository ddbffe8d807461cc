/// The place of a store: a database of a server, and a schema in it.
struct ServerAddress: Hashable, Sendable {
  /// The URL for libpq, without the parameters that are ours.
  let connectionString: String
  /// The schema of the store's tables.
  let schema: String

  /// - Throws: 134080 for a URL that is not one of PostgreSQL, and for a schema whose name nobody could type.
  init(_ url: URL?, _ options: [AnyHashable: Any]?) throws {
    guard let url, url.scheme == "postgresql" || url.scheme == "postgres" else {
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

  /// The URL with parameters of libpq, except those that it has already.
  func connectionString(with parameters: [(name: String, value: String)]) -> String {
    let missing = parameters.filter { !connectionString.contains("\($0.name)=") }.map { "\($0.name)=\($0.value)" }
    if missing.isEmpty { return connectionString }
    return connectionString + (connectionString.contains("?") ? "&" : "?") + missing.joined(separator: "&")
  }

  /// The place for messages: without password and parameters.
  var description: String { "\(serverDescription), schema \(schema)" }

  var serverDescription: String {
    let base = connectionString.split(separator: "?").first.map(String.init) ?? connectionString
    guard let start = base.range(of: "://")?.upperBound, let at = base[start...].lastIndex(of: "@"),
      let colon = base[start..<at].firstIndex(of: ":")
    else { return base }
    return base[..<colon] + String(base[at...])
  }

  /// The name of a table, type or sequence of the store in SQL.
  func qualified(_ name: String) -> String { "\(schema.quotedName).\(name.quotedName)" }
}
