/// Index paths of two indexes: a section, and a position in it.
///
/// UIKit and AppKit have these members; Foundation on Linux does not, and a fetched results controller needs them.
/// Reading one of a path that is too short traps, as any index of it.
extension IndexPath {
  /// The place of an item in a section, `[section, item]`: the form that fetched results controllers use. Foundation on
  /// Linux lacks it.
  ///
  /// ```swift
  /// let path = IndexPath(item: 3, section: 1)
  /// print(path.section, path.item, path.count)  // 1 3 2
  /// ```
  ///
  /// Source: Apple's documentation of `IndexPath` in UIKit.
  public init(item: Int, section: Int) { self.init(indexes: [section, item]) }
  /// The path `[section, row]`: `row` is another name of `item`.
  ///
  /// For code that was written for tables.
  public init(row: Int, section: Int) { self.init(indexes: [section, row]) }

  /// The first index. Traps if the path is empty.
  ///
  /// O(1). Setting it keeps the item.
  public var section: Int {
    get { self[0] }
    set { self[0] = newValue }
  }

  /// The second index. Traps if the path is shorter.
  ///
  /// O(1). Setting it keeps the section.
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
