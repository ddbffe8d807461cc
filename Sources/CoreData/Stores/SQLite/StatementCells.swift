/// Binds values to the parameters of a statement, one after the other, in the form in which SQLite keeps them.
///
/// A value that SQLite does not take is noted by the statement, whose next step throws.
///
/// `RowEncoder.write` calls one of its methods for each column. The index moves on by itself, and the caller gets it
/// back for the next row of the group.
struct StatementCells: CellWriter {
  let statement: SQLiteStatement
  /// The next parameter.
  private(set) var index: Int32
  /// Where large values go; nil for a store without a file.
  private let externalFiles: ExternalFiles?

  @inline(__always)
  init(_ statement: SQLiteStatement, at index: Int32, _ externalFiles: ExternalFiles? = nil) {
    self.statement = statement
    self.index = index
    self.externalFiles = externalFiles
  }

  @inline(__always)
  mutating func null() {
    statement.bindNull(at: index)
    index += 1
  }

  @inline(__always)
  mutating func integer(_ value: Int64) {
    statement.bind(value, at: index)
    index += 1
  }

  @inline(__always) mutating func boolean(_ value: Int64) { integer(value) }

  @inline(__always)
  mutating func double(_ value: Double) {
    statement.bind(value, at: index)
    index += 1
  }

  @inline(__always) mutating func date(_ seconds: Double) { double(seconds) }

  @inline(__always)
  mutating func text(_ value: String) {
    statement.bind(value, at: index)
    index += 1
  }

  mutating func data(_ value: Data, isExternal: Bool) {
    statement.bind(isExternal ? ExternalData.stored(value, externalFiles) : value, at: index)
    index += 1
  }

  /// A whole number is stored as an integer, a fraction as REAL, as in Apple's files.
  ///
  /// A REAL keeps 15 digits: 3.3333333333 comes back as it was, 0.12345678901234567890 does not. Apple's files lose the
  /// same digits. A text would not, but neither Apple's framework nor SQL's arithmetic would read it as a number.
  mutating func decimal(_ value: NSDecimalNumber) {
    if let whole = Int64(value.stringValue) { integer(whole) } else { double(value.doubleValue) }
  }

  mutating func uuid(_ value: UUID) { data(withUnsafeBytes(of: value.uuid) { Data($0) }, isExternal: false) }

  mutating func transformable(_ value: Any, of attribute: NSAttributeDescription) {
    do {
      guard let bytes = try TransformableValue.encode(value, attribute.valueTransformerName) else { return null() }
      data(bytes, isExternal: false)
    } catch {
      statement.refuse(error, at: index)
      index += 1
    }
  }
}

extension SQLiteConnection {
  /// A value in the form in which SQLite keeps it.
  ///
  /// `SELECT ?1` gives the bound value back. So a default value of the model, or a batch's constant, gets SQLite's form
  /// by the code that writes rows, and by no second one.
  ///
  /// - Parameter write: writes one value.
  func stored(_ write: (inout StatementCells) -> Void) throws -> SQLiteValue {
    let statement = try statement("SELECT ?1")
    defer { statement.reset() }
    var cells = StatementCells(statement, at: 1)
    write(&cells)
    return try statement.step() ? statement.value(0) : .null
  }
}
