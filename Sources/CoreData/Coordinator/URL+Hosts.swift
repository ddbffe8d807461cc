extension URL {
  /// The URL of a PostgreSQL store from the text that libpq takes, which may name several hosts with ports.
  ///
  /// ```swift
  /// let url = URL(postgreSQL: "postgresql://me@one:5432,two:5433,[::1]/app?target_session_attrs=read-write")
  /// print(url?.query ?? "")  // host=one,two,::1&port=5432,5433,&target_session_attrs=read-write
  /// ```
  ///
  /// `URL(string:)` refuses such a list. Here the hosts and ports become parameters, which libpq reads in the same way:
  /// `postgresql://me@/app?host=one,two,::1&port=5432,5433,&target_session_attrs=read-write`. Characters that no URL
  /// may have are percent-encoded; all else stays as it is.
  ///
  /// Use it for a text from a user or a configuration file, which may name several hosts. For a URL with one host it is
  /// `URL(string:)`, except that characters which no URL may have do not make it nil.
  ///
  /// - Parameter text: begins with `postgresql://` or `postgres://`.
  /// - Returns: nil for a text that is no URL of PostgreSQL.
  ///
  /// Source: https://www.postgresql.org/docs/15/libpq-connect.html, "Connection URIs".
  public init?(postgreSQL text: String) {
    guard let scheme = ["postgresql://", "postgres://"].first(where: text.hasPrefix) else { return nil }
    let text = Self.encoded(text)
    let afterScheme = text.dropFirst(scheme.count)
    let authority = afterScheme.prefix { !"/?#".contains($0) }
    let hosts = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
    guard hosts.contains(",") else {
      self.init(string: text)
      return
    }
    var (names, ports): ([Substring], [Substring]) = ([], [])
    for host in hosts.split(separator: ",", omittingEmptySubsequences: false) {
      let parts = Self.parts(host)
      guard let parts, parts.port.allSatisfy({ ("0"..."9").contains($0) }) else { return nil }
      names.append(parts.name)
      ports.append(parts.port)
    }
    var parameters = "host=\(names.joined(separator: ","))"
    // A list of ports has one for each host; an empty one is 5432.
    if ports.contains(where: { !$0.isEmpty }) { parameters += "&port=\(ports.joined(separator: ","))" }
    var end = afterScheme.dropFirst(authority.count)
    // Later parameters of a name replace earlier ones, and all replace what stands before them.
    let query = end.firstIndex(of: "?").map { "&" + end[end.index(after: $0)...] } ?? ""
    end = end.prefix { $0 != "?" }
    let user = authority.dropLast(hosts.count)
    self.init(string: "\(scheme)\(user)\(end.isEmpty ? "/" : end)?\(parameters)\(query)")
  }

  /// What no URL may have is percent-encoded, and only that: Foundation would encode all of the text a second time.
  private static func encoded(_ text: String) -> String {
    text.utf8.reduce(into: "") { encoded, byte in
      let isPlain = byte > 0x20 && byte < 0x7f && !#""<>\^`{|}"#.utf8.contains(byte)
      encoded += isPlain ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
  }

  /// A host without the brackets of an IPv6 address, and its port; nil if a bracket is not closed. libpq takes the
  /// address without brackets in its parameter `host`, and with them in front of a port.
  private static func parts(_ host: Substring) -> (name: Substring, port: Substring)? {
    guard host.hasPrefix("[") else {
      let name = host.prefix { $0 != ":" }
      return (name, host.dropFirst(name.count + 1))
    }
    guard let end = host.firstIndex(of: "]") else { return nil }
    let afterBracket = host[host.index(after: end)...]
    guard afterBracket.isEmpty || afterBracket.hasPrefix(":") else { return nil }
    return (host[..<end].dropFirst(), afterBracket.dropFirst())
  }
}
