/// The INSERTs of one entity's rows. One names the columns that have values: SQLite sets the others to NULL, and
/// neither a parameter nor an instruction is spent on them.
///
/// Used on the writer connection only, under its lock.
///
/// An entity with 20 attributes, of whose new rows one has a value for two and the next for three:
///
/// ```text
/// row  values        shape (a bit for each step)   statement
/// 1    title, pages  0b0110                        INSERT INTO T (Z_PK, Z_ENT, Z_OPT, ZPAGES, ZTITLE) VALUES …
/// 2    + note        0b0111                        INSERT INTO T (…, ZNOTE, ZPAGES, ZTITLE) VALUES …
/// 9th shape          the narrowest of the eight that has its columns, or the whole one
/// ```
///
/// A group of rows has one statement, and so the columns of all of them together. `Book`, with four properties, always
/// uses the whole shape: from 12 properties on it pays.
final class InsertShapes {
  /// Names all columns.
  let whole: InsertShape
  /// Those that name some columns only, few of them: each is prepared for each size of a group.
  private var narrow: [InsertShape] = []
  private let table: String
  private let steps: [RowStep]
  private let columns: [[String]]
  /// Whether rows of this entity may have many columns without a value.
  private let isWide: Bool

  /// The number of columns from which an entity is wide.
  private static let wideFrom = 12
  private static let mostShapes = 8

  init(table: String, steps: [RowStep], columns: [[String]]) {
    self.table = table
    self.steps = steps
    self.columns = columns
    // The set of a shape's columns is one word.
    isWide = (InsertShapes.wideFrom...UInt64.bitWidth).contains(steps.count)
    whole = InsertShape(table: table, steps: steps, columns: columns, mask: .max)
  }

  /// The narrowest that has the columns in which any of the rows has a value.
  @inline(__always)
  func shape(of rows: some Sequence<Snapshot>) -> InsertShape { isWide ? narrowShape(of: rows) : whole }

  private func narrowShape(of rows: some Sequence<Snapshot>) -> InsertShape {
    var mask: UInt64 = 0
    for row in rows {
      withExtendedLifetime(row.slab) {
        for (position, step) in steps.enumerated() where !row.slots[step.slot].isNil(step.kind) {
          mask |= 1 << position
        }
      }
    }
    if let shape = narrow.first(where: { $0.mask == mask }) { return shape }
    guard narrow.count < InsertShapes.mostShapes else {
      let wider = narrow.filter { $0.mask & mask == mask }
      return wider.min { $0.steps.count < $1.steps.count } ?? whole
    }
    let positions = steps.indices.filter { mask & (1 << $0) != 0 }
    let shape = InsertShape(
      table: table, steps: positions.map { steps[$0] }, columns: positions.map { columns[$0] }, mask: mask)
    narrow.append(shape)
    return shape
  }
}

/// An INSERT that names some of an entity's columns.
final class InsertShape {
  /// The steps whose columns it names, in the order of their parameters.
  let steps: [RowStep]
  /// A bit for each of them.
  fileprivate let mask: UInt64
  /// What follows INSERT.
  private let names: String
  private let places: String
  private var texts: [Text: String] = [:]

  /// What becomes of the rows of a statement when a constraint refuses one of them.
  enum Refusal {
    /// None is written.
    case undoesAll
    /// Those before it stay. SQLite keeps no copies of the pages that it changes, as it does to undo a statement
    /// (https://www.sqlite.org/lang_conflict.html). Only for a transaction that is rolled back then.
    case endsTransaction
  }

  private struct Text: Hashable {
    let rows: Int
    let refusal: Refusal
  }

  fileprivate init(table: String, steps: [RowStep], columns: [[String]], mask: UInt64) {
    self.steps = steps
    self.mask = mask
    let columnNames = ["Z_PK", "Z_ENT", "Z_OPT"] + columns.flatMap(\.self)
    places = "(\(Array(repeating: "?", count: columnNames.count).joined(separator: ", ")))"
    names = " INTO \(table) (\(columnNames.joined(separator: ", "))) VALUES "
  }

  /// The statement for some rows; parameters row after row: key, entity, version, the values of the steps.
  func sql(rows: Int, onRefusal refusal: Refusal = .undoesAll) -> String {
    let key = Text(rows: rows, refusal: refusal)
    if let text = texts[key] { return text }
    let verb = refusal == .undoesAll ? "INSERT" : "INSERT OR FAIL"
    let text = verb + names + Array(repeating: places, count: rows).joined(separator: ", ")
    texts[key] = text
    return text
  }
}
