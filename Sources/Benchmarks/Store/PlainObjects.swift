import CSQLite
import Foundation

/// The objects that a C program makes of people's rows, if it makes what Core Data makes: a block of memory for each
/// object, the rows' values and texts in larger blocks, and a table in which an object is found by its key. Reading a
/// text makes a copy on the heap, which its reader frees.
///
/// Stepping through rows, as the plain side does, makes nothing that lasts longer than a step.
final class PlainObjects {
  /// As large as an NSManagedObject.
  private struct Object {
    var key: Int64
    var row: UnsafeMutablePointer<Row>
    var padding: (Int64, Int64, Int64, Int64, Int64, Int64, Int64, Int64, Int64, Int64, Int64)
  }

  /// The values of a row, followed by the bytes of its texts.
  private struct Row {
    var version: Int64
    var age: Int64
    var score: Double
    var joined: Double
    var nameLength: Int
    var emailLength: Int
  }

  private typealias Reference = UnsafeMutablePointer<Object>

  private static let blockSize = 32_768

  /// By key; half of the places are empty at least.
  private var table = UnsafeMutablePointer<Reference?>.allocate(capacity: 1024)
  private var tableSize = 1024
  private var count = 0
  private var blocks: [UnsafeMutableRawPointer] = []
  private var end = UnsafeMutableRawPointer.allocate(byteCount: 0, alignment: 16)
  private var room = 0

  init() {
    blocks.append(end)
    table.initialize(repeating: nil, count: tableSize)
  }

  deinit {
    for place in 0..<tableSize { free(table[place]) }
    table.deallocate()
    for block in blocks { block.deallocate() }
  }

  /// The statement whose rows are fetched.
  static let sql = "SELECT Z_PK, Z_OPT, ZNAME, ZAGE, ZSCORE, ZJOINED, ZEMAIL FROM ZPERSON"

  /// Makes an object of each row that the table does not have, and reads every property of all.
  func fetchAndRead(_ sqlite: PlainSQLite) -> Int {
    var sum = 0
    let objects = fetch(sqlite)
    for object in objects { sum &+= read(object) }
    return sum
  }

  private func fetch(_ sqlite: PlainSQLite) -> [Reference] {
    let statement = sqlite.prepare(Self.sql)
    defer { sqlite3_finalize(statement) }
    var objects: [Reference] = []
    while sqlite3_step(statement) == SQLITE_ROW {
      let key = sqlite3_column_int64(statement, 0)
      if count * 2 >= tableSize { growTable() }
      let place = self.place(of: key)
      if let object = table[place] {
        objects.append(object)
        continue
      }
      guard let memory = malloc(MemoryLayout<Object>.size) else { fatalError("out of memory") }
      let object = memory.bindMemory(to: Object.self, capacity: 1)
      object.initialize(to: Object(key: key, row: row(statement), padding: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))
      table[place] = object
      count += 1
      objects.append(object)
    }
    return objects
  }

  private func row(_ statement: OpaquePointer) -> UnsafeMutablePointer<Row> {
    let name = sqlite3_column_text(statement, 2)
    let nameLength = Int(sqlite3_column_bytes(statement, 2))
    let email = sqlite3_column_text(statement, 6)
    let emailLength = Int(sqlite3_column_bytes(statement, 6))
    let size = (MemoryLayout<Row>.size + nameLength + emailLength + 7) & ~7
    if size > room {
      room = max(size, Self.blockSize)
      end = .allocate(byteCount: room, alignment: 16)
      blocks.append(end)
    }
    let row = end.bindMemory(to: Row.self, capacity: 1)
    row.initialize(
      to: Row(
        version: sqlite3_column_int64(statement, 1), age: sqlite3_column_int64(statement, 3),
        score: sqlite3_column_double(statement, 4), joined: sqlite3_column_double(statement, 5),
        nameLength: nameLength, emailLength: emailLength))
    let texts = end + MemoryLayout<Row>.size
    if let name { texts.copyMemory(from: name, byteCount: nameLength) }
    if let email { (texts + nameLength).copyMemory(from: email, byteCount: emailLength) }
    end += size
    room -= size
    return row
  }

  private func read(_ object: Reference) -> Int {
    let row = object.pointee.row
    let texts = UnsafeRawPointer(row + 1)
    var sum = read(text: texts, row.pointee.nameLength)
    sum &+= Int(row.pointee.age) &+ Int(row.pointee.score) &+ Int(row.pointee.joined)
    return sum &+ read(text: texts + row.pointee.nameLength, row.pointee.emailLength)
  }

  private func read(text: UnsafeRawPointer, _ length: Int) -> Int {
    guard let copy = malloc(length + 1) else { fatalError("out of memory") }
    defer { free(copy) }
    copy.copyMemory(from: text, byteCount: length)
    copy.storeBytes(of: 0, toByteOffset: length, as: UInt8.self)
    return length &+ Int(copy.load(as: UInt8.self))
  }

  // MARK: The table

  @inline(__always)
  private func place(of key: Int64) -> Int {
    var place = Int(truncatingIfNeeded: UInt64(bitPattern: key) &* 0x9E37_79B9_7F4A_7C15 >> 20) & (tableSize - 1)
    while let other = table[place], other.pointee.key != key { place = (place + 1) & (tableSize - 1) }
    return place
  }

  private func growTable() {
    let (old, oldSize) = (table, tableSize)
    tableSize *= 2
    table = .allocate(capacity: tableSize)
    table.initialize(repeating: nil, count: tableSize)
    for index in 0..<oldSize {
      if let object = old[index] { table[place(of: object.pointee.key)] = object }
    }
    old.deallocate()
  }
}
