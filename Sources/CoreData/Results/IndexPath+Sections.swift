/// Paths of two indexes: a section, and a position in it.
extension IndexPath {
  public init(item: Int, section: Int) { self.init(indexes: [section, item]) }
  public init(row: Int, section: Int) { self.init(indexes: [section, row]) }

  /// The first index. Traps in an empty path.
  public var section: Int {
    get { self[0] }
    set { self[0] = newValue }
  }

  /// The second index. Traps in a shorter path.
  public var item: Int {
    get { self[1] }
    set { self[1] = newValue }
  }

  /// The second index, by its name in tables.
  public var row: Int {
    get { self[1] }
    set { self[1] = newValue }
  }
}
