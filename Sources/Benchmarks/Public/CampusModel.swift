import CSQLite
import CoreData
import Foundation

/// Campus.xcdatamodeld: users, and students with a school and grades. All have unique IDs in no order.
enum CampusModel {
  static func make() -> NSManagedObjectModel {
    guard let url = Bundle.module.url(forResource: "Campus", withExtension: "momd"),
      let model = NSManagedObjectModel(contentsOf: url)
    else { fatalError("The model Campus cannot be read.") }
    return model
  }

  static func entity(_ name: String, of model: NSManagedObjectModel) -> NSEntityDescription {
    guard let entity = model.entitiesByName[name] else { fatalError("Campus has no entity \(name).") }
    return entity
  }

  /// A UUID that looks random, and is the same for the same number.
  static func uuid(_ number: Int) -> UUID {
    func mixed(_ value: UInt64) -> UInt64 {
      var value = value &* 0x9E37_79B9_7F4A_7C15
      value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
      return value ^ (value >> 31)
    }
    let words = (mixed(UInt64(number) &+ 1), mixed(UInt64(number) &+ 0x1234_5678_9ABC))
    return withUnsafeBytes(of: words) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }
}

/// The values of user number `index`.
struct UserValues {
  static let firstNames = ["Jane", "John", "Mary", "Tom", "Alice", "Bob", "Carol", "Dave", "Eve", "Frank"]
  static let surnames = ["Smith", "Jones", "Taylor", "Brown", "Williams", "Wilson", "Johnson", "Davies"]

  let id: UUID
  let firstName: String
  let surname: String
  let age: Int16

  init(_ index: Int) {
    id = CampusModel.uuid(index)
    firstName = Self.firstNames[index % 10]
    surname = Self.surnames[index / 10 % 8]
    age = Int16(index % 100)
  }
}

extension User {
  func take(_ values: UserValues) {
    id = values.id
    firstName = values.firstName
    surname = values.surname
    age = values.age
  }
}

extension PlainSQLite {
  static func bind(_ id: UUID, _ index: Int32, _ statement: OpaquePointer) {
    withUnsafeBytes(of: id.uuid) {
      _ = sqlite3_bind_blob(
        statement, index, $0.baseAddress, 16, unsafeBitCast(-1, to: sqlite3_destructor_type.self))
    }
  }

  /// Runs a statement without rows once for each item, in one transaction.
  func run<Item>(_ sql: String, _ items: some Sequence<Item>, _ bind: (Item, OpaquePointer) -> Void) {
    let statement = prepare(sql)
    defer { sqlite3_finalize(statement) }
    for item in items {
      bind(item, statement)
      guard sqlite3_step(statement) == SQLITE_DONE else { fatalError("\(sql) failed") }
      sqlite3_reset(statement)
    }
  }

  func transaction(_ body: () -> Void) {
    execute("BEGIN IMMEDIATE")
    body()
    execute("COMMIT")
  }

  /// Reads all rows of a query for ages, surnames, first names and IDs.
  func readPeople(_ sql: String) {
    let statement = prepare(sql)
    defer { sqlite3_finalize(statement) }
    var sum = 0
    while sqlite3_step(statement) == SQLITE_ROW {
      sum &+= Int(sqlite3_column_int64(statement, 0)) &+ Int(sqlite3_column_bytes(statement, 1))
      sum &+= Int(sqlite3_column_bytes(statement, 2)) &+ (sqlite3_column_blob(statement, 3) == nil ? 0 : 1)
    }
    consume(sum)
  }

  /// The first column of all rows.
  func integers(_ sql: String) -> [Int64] {
    let statement = prepare(sql)
    defer { sqlite3_finalize(statement) }
    var values: [Int64] = []
    while sqlite3_step(statement) == SQLITE_ROW { values.append(sqlite3_column_int64(statement, 0)) }
    return values
  }
}
