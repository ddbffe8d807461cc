/// Index paths of two indexes: a section, and a position in it.
extension IndexPath {
  /// The place of an item in a section, `[section, item]`: the form that fetched results controllers use. Foundation on
  /// Linux lacks it.
  public init(item: Int, section: Int) { self.init(indexes: [section, item]) }
  /// The path `[section, row]`: `row` is another name of `item`.
  public init(row: Int, section: Int) { self.init(indexes: [section, row]) }

  /// The first index. Traps if the path is empty.
  public var section: Int {
    get { self[0] }
    set { self[0] = newValue }
  }

  /// The second index. Traps if the path is shorter.
  public var item: Int {
    get { self[1] }
    set { self[1] = newValue }
  }

  /// The second index under the name that tables use. Traps if the path is shorter.
  public var row: Int {
    get { self[1] }
    set { self[1] = newValue }
  }
}
