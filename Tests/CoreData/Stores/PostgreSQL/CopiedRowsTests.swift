import TestFiles
import Testing

@testable import CoreData
@testable import CoreDataPostgreSQL

/// Rows that a server sends as a COPY.
@Suite(.enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"), .timeLimit(.minutes(20)))
struct CopiedRowsTests {
  private func connect() throws -> any ServerConnection {
    return try ServerDriver.open(PostgreSQLServer.shared.address())
  }

  /// The sum of a statement's only column.
  private func sum(_ connection: any ServerConnection, _ sql: String) throws -> Int64 {
    var sum: Int64 = 0
    try forEachRow(connection, sql, columnCount: 1) { sum += $0.key(0) }
    return sum
  }

  private func forEachRow(
    _ connection: any ServerConnection, _ sql: String, columnCount: Int, _ body: (CopiedRow) -> Void
  ) throws {
    let copiedRows = CopiedRows(columnCount: columnCount)
    try connection.copyRows(sql) { messages in
      var rows = try copiedRows.rows(in: messages)
      while let row = try rows.next() { body(row) }
    }
  }

  // MARK: Values

  @Test func valuesAreThoseOfAResult() throws {
    let connection = try connect()
    let sql = """
      SELECT 9223372036854775807, 7::bigint, 0.1::float8, ''::text, NULL::text, 'é\u{1F600}'::text, NULL::bigint, \
      '\\x00ff'::bytea FROM generate_series(1, 3)
      """
    let result = try connection.execute(SQL(raw: sql))
    var copiedRows: [[[UInt8]?]] = []
    try forEachRow(connection, sql, columnCount: 8) { row in
      #expect(row.key(0) == .max && row.integer(1) == 7 && row.number(6) == nil && row.integer(6) == nil)
      copiedRows.append((0..<8).map { row.bytes($0).map(Array.init) })
    }
    #expect(copiedRows == (0..<3).map { row in (0..<8).map { result.bytes(row, $0).map(Array.init) } })
  }

  @Test func manyRowsAndNoRowsArrive() throws {
    let connection = try connect()
    try #expect(sum(connection, "SELECT n FROM generate_series(1::bigint, 100000) AS n") == 5_000_050_000)
    try #expect(sum(connection, "SELECT 1::bigint WHERE false") == 0)
    try #expect(connection.execute("SELECT 1::bigint").integer(0, 0) == 1)
  }

  /// Lengths around that of the driver's memory, which the messages fill to different places, and larger ones.
  @Test func rowsOfAnyLengthArriveWhole() throws {
    let connection = try connect()
    let lengths = Array(32_700...32_780) + [0, 1_000_000, 3, 65_536] + Array(16_330...16_390) + [7]
    let sql = """
      SELECT t.n::bigint, repeat(chr(97 + t.n % 26), t.n) FROM unnest(ARRAY\(lengths)) WITH ORDINALITY AS t (n, place) \
      ORDER BY t.place
      """
    var copiedLengths: [Int] = []
    try forEachRow(connection, sql, columnCount: 2) { row in
      let length = Int(row.key(0))
      let (text, letter) = (row.bytes(1), UInt8(97 + length % 26))
      #expect(text?.count == length && text?.first ?? letter == letter && text?.last ?? letter == letter)
      copiedLengths.append(length)
    }
    #expect(copiedLengths == lengths)
  }

  // MARK: Ends before the end

  @Test func rowsThatAreNotWantedAnyMoreEnd() throws {
    struct Enough: Error {}
    let connection = try connect()
    var count = 0
    #expect(throws: Enough.self) {
      try connection.copyRows("SELECT n FROM generate_series(1, 10000000) AS n") { _ in
        count += 1
        if count == 3 { throw Enough() }
      }
    }
    try #expect(count == 3 && sum(connection, "SELECT 7::bigint") == 7)
  }

  @Test(arguments: [
    ("SELECT 1 / (n - 50000) FROM generate_series(1, 100000) AS n", "22012"), ("SELECT nothing", "42703"),
    ("DELETE FROM pg_class", "0A000"),
  ])
  func anErrorOfTheServerIsThrownAndTheConnectionStaysUsable(sql: String, state: String) throws {
    let connection = try connect()
    let error = #expect(throws: ServerError.self) { try connection.copyRows(sql) { _ in } }
    #expect(error?.state == state && error?.isConnectionLost == false)
    try #expect(sum(connection, "SELECT 7::bigint") == 7)
  }

  @Test func rowsOfACancelledStatementEnd() throws {
    let connection = try connect()
    var count = 0
    let error = #expect(throws: ServerError.self) {
      try connection.copyRows("SELECT n FROM generate_series(1, 10000000) AS n") { _ in
        count += 1
        if count == 3 { connection.cancel() }
      }
    }
    #expect(error?.state == "57014" && count >= 3 && count < 10_000_000)
    try #expect(sum(connection, "SELECT 7::bigint") == 7)
  }

  @Test(arguments: [true, false])
  func aSessionThatEndsAmidRowsIsALostConnection(isCopied: Bool) throws {
    let (connection, other) = (try connect(), try connect())
    let process = try connection.execute("SELECT pg_backend_pid()::bigint").integer(0, 0)
    var isEnded = false
    func endSession() throws {
      if isEnded { return }
      isEnded = true
      try other.execute("SELECT pg_terminate_backend($1::int)", ServerStatement.parameters([.integer(process)]))
    }
    let rows = "SELECT n FROM generate_series(1, 10000000) AS n"
    let error = #expect(throws: ServerError.self) {
      if isCopied {
        try connection.copyRows(rows) { _ in try endSession() }
      } else {
        try connection.stream(rows, ServerParameters(), isShort: false) { _ in try endSession() }
      }
    }
    #expect(error?.isConnectionLost == true && connection.isLost)
    #expect(throws: ServerError.self) { try connection.execute("SELECT 1") }
  }

  // MARK: Messages

  private static let header = Array("PGCOPY\n".utf8) + [255, 13, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0]
  private static let row: [UInt8] = [0, 2, 0, 0, 0, 1, 65, 255, 255, 255, 255]

  private func texts(_ messages: [[UInt8]]) throws -> [String?] {
    let copiedRows = CopiedRows(columnCount: 2)
    var texts: [String?] = []
    for message in messages {
      try message.withUnsafeBytes { bytes in
        var rows = try copiedRows.rows(in: bytes)
        while let row = try rows.next() {
          texts += (0..<2).map { row.bytes($0).map { String(decoding: $0, as: UTF8.self) } }
        }
      }
    }
    return texts
  }

  /// Servers put the header before the first row; the protocol lets them send it alone.
  @Test func theHeaderMayComeAlone() throws {
    let end: [UInt8] = [255, 255]
    for messages in [[Self.header + Self.row, Self.row, end], [Self.header, Self.row, Self.row, end]] {
      try #expect(texts(messages) == ["A", nil, "A", nil])
    }
    try #expect(texts([Self.header + end]) == [])
    // An extension that is not known is skipped.
    let extended = Self.header.dropLast() + [3, 1, 2, 3]
    try #expect(texts([extended + Self.row]) == ["A", nil])
  }

  @Test func aDamagedMessageIsAnError() {
    for length in 1..<Self.row.count {
      #expect(throws: ServerError.self, "\(length)") { try texts([Self.header + Self.row.prefix(length)]) }
    }
    for damaged in [Self.row, Array(Self.header.dropLast()), Self.header.dropLast() + [1]] {
      #expect(throws: ServerError.self) { try texts([damaged]) }
    }
    #expect(throws: ServerError.self) { try texts([Self.header + [0, 3] + Self.row.dropFirst(2)]) }
  }
}
