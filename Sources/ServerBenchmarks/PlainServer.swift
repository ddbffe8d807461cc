import CPostgreSQL
import Foundation

/// libpq as a C program uses it well: binary values, prepared statements, pipelines.
final class PlainServer {
  private let connection: OpaquePointer

  init(_ address: String) {
    guard let connection = PQconnectdb(address), PQstatus(connection) == CONNECTION_OK else {
      fatalError("no connection to \(address)")
    }
    self.connection = connection
    run("SET search_path = pg_catalog")
  }

  deinit { PQfinish(connection) }

  func run(_ sql: String) { check(PQexec(connection, sql)) }

  private func check(_ result: OpaquePointer?) {
    switch PQresultStatus(result) {
    case PGRES_COMMAND_OK, PGRES_TUPLES_OK: PQclear(result)
    default: fatalError(String(cString: PQresultErrorMessage(result)))
    }
  }

  func prepare(_ name: String, _ sql: String) { check(PQprepare(connection, name, sql, 0, nil)) }

  /// The parameters of one statement, in memory that is used again.
  struct Parameters {
    var bytes = [UInt8](repeating: 0, count: 4096)
    var count = 0
    var end = 0
    var values = [UnsafePointer<CChar>?](repeating: nil, count: 8)
    var lengths = [Int32](repeating: 0, count: 8)
    var formats = [Int32](repeating: 1, count: 8)

    mutating func clear() { (count, end) = (0, 0) }

    mutating func add(_ value: Int64) {
      bytes.withUnsafeMutableBytes { $0.storeBytes(of: value.bigEndian, toByteOffset: end, as: Int64.self) }
      note(8)
    }

    mutating func add(_ value: Double) { add(Int64(bitPattern: value.bitPattern)) }

    mutating func add(_ value: String) {
      var value = value
      let start = end
      let count = value.withUTF8 { text in
        bytes.withUnsafeMutableBytes {
          ($0.baseAddress! + start).copyMemory(from: text.baseAddress!, byteCount: text.count)
        }
        return text.count
      }
      note(count)
    }

    private mutating func note(_ length: Int) {
      let start = end
      bytes.withUnsafeBytes { values[count] = ($0.baseAddress! + start).assumingMemoryBound(to: CChar.self) }
      lengths[count] = Int32(length)
      count += 1
      end += length
    }
  }

  /// Runs a statement once for each number, in one pipeline and one transaction.
  func pipeline(_ name: String, _ count: Int, _ bind: (Int, inout Parameters) -> Void) {
    run("BEGIN")
    precondition(PQenterPipelineMode(connection) == 1)
    var parameters = Parameters()
    for index in 0..<count {
      parameters.clear()
      bind(index, &parameters)
      precondition(
        PQsendQueryPrepared(
          connection, name, Int32(parameters.count), parameters.values, parameters.lengths, parameters.formats, 1) == 1)
    }
    precondition(PQpipelineSync(connection) == 1)
    for _ in 0..<count {
      check(PQgetResult(connection))
      precondition(PQgetResult(connection) == nil)
    }
    PQclear(PQgetResult(connection))
    precondition(PQexitPipelineMode(connection) == 1)
    run("COMMIT")
  }

  /// Runs a statement and gives the body its rows.
  func query(_ name: String, _ key: Int64? = nil, _ body: (OpaquePointer, Int32) -> Void) {
    var parameters = Parameters()
    if let key { parameters.add(key) }
    let result = PQexecPrepared(
      connection, name, Int32(parameters.count), parameters.values, parameters.lengths, parameters.formats, 1)
    guard PQresultStatus(result) == PGRES_TUPLES_OK, let result else {
      fatalError(String(cString: PQresultErrorMessage(result)))
    }
    for row in 0..<PQntuples(result) { body(result, row) }
    PQclear(result)
  }

  /// Reads the five attributes, from the third column on, into values of the program's own.
  @inline(__always)
  static func readPerson(_ result: OpaquePointer, _ row: Int32) -> Int {
    func integer(_ column: Int32) -> Int64 {
      Int64(bigEndian: UnsafeRawPointer(PQgetvalue(result, row, column)).loadUnaligned(as: Int64.self))
    }
    func text(_ column: Int32) -> Int {
      let length = Int(PQgetlength(result, row, column))
      // A C program copies the text.
      let copy = malloc(length + 1)!
      copy.copyMemory(from: PQgetvalue(result, row, column), byteCount: length)
      let sum = length &+ Int(copy.load(as: UInt8.self))
      free(copy)
      return sum
    }
    var sum = Int(integer(0)) &+ Int(integer(1))
    sum &+= Int(integer(2))
    sum &+= text(3)
    sum &+= Int(integer(4) / 1_000_000)
    sum &+= text(5)
    sum &+= Int(Double(bitPattern: UInt64(bitPattern: integer(6))))
    return sum
  }
}
