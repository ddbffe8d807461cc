/// Gives `NSSortDescriptor` the initialisers that Foundation lacks on Linux. A protocol's initialiser may return a
/// subclass, which a class's own may not: the descriptors are of a subclass that knows its key. Nothing else needs to
/// conform.
public protocol SortDescriptorKeyInitializable {}

extension NSSortDescriptor: SortDescriptorKeyInitializable {}

extension SortDescriptorKeyInitializable {
  /// Sorts by the value at a key path; nil sorts by the objects themselves. Nil values come first in ascending order.
  ///
  /// ```swift
  /// let request = NSFetchRequest<Book>(entityName: "Book")
  /// request.sortDescriptors = [
  ///   NSSortDescriptor(key: "author.name", ascending: true), NSSortDescriptor(key: "pages", ascending: false),
  /// ]
  /// let books = try context.fetch(request)
  /// ```
  ///
  /// Texts are compared by their bytes: "Z" comes before "a", and "a" before "ä". A key path may cross to-one
  /// relationships; a to-many one makes a fetch throw 134070. The key "objectID" sorts saved objects in the order in
  /// which their keys were given.
  ///
  /// In SQL stores the descriptors become ORDER BY, `ORDER BY t1.ZNAME ASC, t0.ZPAGES DESC`, with a join for each
  /// relationship on the way. An index over the same attributes in the same directions saves the sorting, and with a
  /// limit most of the reading too. SQL cannot sort by transient properties (134070). The order of rows that are equal
  /// by all descriptors may differ between fetches: add "objectID" as the last descriptor if you fetch a list in pages.
  ///
  /// `NSSortDescriptor` is Foundation's class: CoreData adds what Foundation on Linux lacks. A descriptor never changes
  /// and may be used on any thread.
  ///
  /// - Parameters:
  ///   - key: keys with dots between them.
  ///   - ascending: whether the least value comes first. Descending order has nil last.
  ///
  /// Source: https://www.sqlite.org/datatype3.html, "Sort Order".
  public init(key: String?, ascending: Bool) {
    self = KeyedSortDescriptor(key: key, ascending: ascending, selector: nil, by: nil) as! Self  // Not on a subclass.
  }

  /// Sorts by the value at a key path, compared by the method that `selector` names.
  ///
  /// ```swift
  /// let byTitle = NSSortDescriptor(key: "title", ascending: true, selector: Selector("localizedStandardCompare:"))
  /// ```
  ///
  /// Known are `compare:`, `caseInsensitiveCompare:`, `localizedCompare:`, `localizedCaseInsensitiveCompare:` and
  /// `localizedStandardCompare:`, which counts digits as numbers; others compare as without a selector. The localized
  /// ones use no locale: the order is the same on every machine. SQL stores sort by all of them.
  ///
  /// The selector concerns texts only; other values have one order. In SQLite it becomes a collation, which is called
  /// for each comparison, and no index serves the sort: for long lists store the folded text in a derived attribute and
  /// sort by that.
  ///
  /// ```text
  /// nil, compare:                      "Zoo" "apple" "file10" "file9" "Äpfel"     by bytes
  /// caseInsensitiveCompare:            "apple" "file10" "file9" "Zoo" "Äpfel"
  /// localizedCompare:                  "Äpfel" "apple" "file10" "file9" "Zoo"
  /// localizedCaseInsensitiveCompare:   the same, and "a" and "A" are equal
  /// localizedStandardCompare:          "Äpfel" "apple" "file9" "file10" "Zoo"     as file managers list names
  /// ```
  ///
  /// - Parameters:
  ///   - key: keys with dots between them; nil for the texts themselves.
  ///   - ascending: whether the least value comes first.
  ///   - selector: Apple's name of the method, with its colon; nil for the bytes.
  public init(key: String?, ascending: Bool, selector: Selector?) {
    self = KeyedSortDescriptor(key: key, ascending: ascending, selector: selector, by: nil) as! Self  // As above.
  }

  /// Sorts by the value at a key path, compared by a closure. A fetch from an SQL store throws 134070 for it.
  ///
  /// ```swift
  /// let byLength = NSSortDescriptor(key: "title", ascending: true) { one, other in
  ///   let lengths = ((one as? String)?.count ?? 0, (other as? String)?.count ?? 0)
  ///   return lengths.0 < lengths.1 ? .orderedAscending : lengths.0 > lengths.1 ? .orderedDescending : .orderedSame
  /// }
  /// let sorted = ([book] as NSArray).sortedArray(using: [byLength])
  /// ```
  ///
  /// The closure gets the two values, never nil: values that are nil come first. It must give the same answer each
  /// time, and the opposite one for exchanged values. Stores in memory call it on the queue that fetches, with the
  /// values of attributes.
  ///
  /// - Parameters:
  ///   - key: keys with dots between them; nil for the objects themselves.
  ///   - ascending: false reverses what the closure says.
  ///   - comparator: the order of two values.
  public init(key: String?, ascending: Bool, comparator: @escaping (Any, Any) -> ComparisonResult) {
    self = KeyedSortDescriptor(key: key, ascending: ascending, selector: nil, by: comparator) as! Self  // As above.
  }

  /// Sorts by the property of a Swift sort descriptor: texts as `localizedStandardCompare:` does, which is what a Mac's
  /// sort descriptors do unless they say `.lexical`. Traps if the key path has no name: see `ManagedKeyPathTable`.
  ///
  /// ```swift
  /// let request = NSFetchRequest<Book>(entityName: "Book")
  /// request.sortDescriptors = [
  ///   NSSortDescriptor(SortDescriptor(\Book.title)), NSSortDescriptor(SortDescriptor(\Book.pages, order: .reverse)),
  /// ]
  /// ```
  ///
  /// Source: https://developer.apple.com/documentation/foundation/sortdescriptor
  public init<Compared: NSObject>(_ sortDescriptor: SortDescriptor<Compared>) {
    guard let translated = KeyedSortDescriptor.descriptor(for: sortDescriptor) else {
      fatalError("NSSortDescriptor(_:): the key path of \(sortDescriptor) has no name; use the string form.")
    }
    self = translated as! Self  // Not on a subclass.
  }

  /// Sorts by the value at a key path of modelled properties. Traps if the path has no name: see `ManagedKeyPathTable`.
  ///
  /// ```swift
  /// let longestFirst = NSSortDescriptor(keyPath: \Book.pages, ascending: false)
  /// ```
  ///
  /// Classes that `ModelCompilerPlugin` generates have names for all their properties. The compiler checks the key
  /// path, which for a string only the fetch does.
  ///
  /// - Parameters:
  ///   - keyPath: a path of modelled properties: `\Book.author?.name` too.
  ///   - ascending: whether the least value comes first.
  public init<Root, Value>(keyPath: KeyPath<Root, Value>, ascending: Bool) {
    guard let key = keyPath._kvcKeyPathString else {
      fatalError("NSSortDescriptor(keyPath:ascending:): \(keyPath) has no name; use the string form.")
    }
    self = KeyedSortDescriptor(key: key, ascending: ascending, selector: nil, by: nil) as! Self  // As above.
  }
}

extension String.StandardComparator {
  /// Whether it compares code points, in either direction.
  fileprivate var isLexical: Bool {
    var forward = self
    forward.order = .forward
    return forward == .lexical
  }
}

extension NSSortDescriptor {
  /// The key path of the compared values; nil if the objects themselves are compared.
  ///
  /// ```swift
  /// print(NSSortDescriptor(keyPath: \Book.author?.name, ascending: true).key ?? "")  // author.name
  /// ```
  ///
  /// For a descriptor that Foundation's own initialiser made it is the name of its Swift key path.
  public final var key: String? {
    (self as? KeyedSortDescriptor).map { $0.sortKey } ?? keyPath._kvcKeyPathString
  }

  /// The method that compares the values; nil for the default.
  ///
  /// It is kept as it was given, even if it names no known method.
  public final var selector: Selector? {
    (self as? KeyedSortDescriptor)?.sortSelector
  }

  /// Whether a closure compares, so that only memory can sort.
  ///
  /// A descriptor of Foundation's own without a name for its key path counts as one too: only its `compare` knows what
  /// it compares.
  final var hasComparator: Bool {
    guard let keyed = self as? KeyedSortDescriptor else { return keyPath._kvcKeyPathString == nil }
    return keyed.block != nil
  }
}

/// A sort descriptor made from a key. It replaces Foundation's comparison completely, since Foundation on Linux
/// compares by Swift key paths only.
final class KeyedSortDescriptor: NSSortDescriptor {
  let sortKey: String?
  let sortSelector: Selector?
  let block: ((Any, Any) -> ComparisonResult)?
  let keys: [String]
  /// Looked up once. An unknown selector compares by bytes, as the documentation of the initialiser says.
  private let ordering: StringOrdering

  init(key: String?, ascending: Bool, selector: Selector?, by block: ((Any, Any) -> ComparisonResult)?) {
    self.sortKey = key
    self.sortSelector = selector
    self.block = block
    self.keys = key.map { KeyPathComponents($0).keys } ?? []
    self.ordering = selector.flatMap(StringOrdering.init(selector:)) ?? .binary
    // Foundation's initialiser requires a Swift key path. Nothing follows this one.
    super.init(keyPath: \NSObject.self, ascending: ascending, comparator: { _, _ in .orderedSame })
  }

  /// The counterpart of a Swift sort descriptor; nil if its key path has no name.
  static func descriptor<Compared: NSObject>(for sortDescriptor: SortDescriptor<Compared>) -> KeyedSortDescriptor? {
    guard let keyPath = sortDescriptor.keyPath, let key = keyPath._kvcKeyPathString else { return nil }
    let valueType = type(of: keyPath).valueType
    let isText = valueType == String.self || valueType == String?.self
    let isLexical = !isText || sortDescriptor.stringComparator?.isLexical == true
    return KeyedSortDescriptor(
      key: key, ascending: sortDescriptor.order == .forward,
      selector: isLexical ? nil : Selector(StringOrdering.localizedStandard.rawValue), by: nil)
  }

  /// For sorts outside of this module, such as `NSArray.sortedArray(using:)`. Sorts of this module read each key once:
  /// see `SortKey`.
  override func compare(_ object1: Any, to object2: Any) -> ComparisonResult {
    if let block {
      let left = KeyValueReading.value(at: keys, of: object1)
      let right = KeyValueReading.value(at: keys, of: object2)
      guard let left, let right else {
        return directed(left == nil ? (right == nil ? .orderedSame : .orderedAscending) : .orderedDescending)
      }
      return directed(block(left, right))
    }
    return directed(order(value(of: object1), value(of: object2)))
  }

  /// The object's value that is compared.
  func value(of object: Any) -> PredicateValue {
    NSManagedObject.from(object)?.predicateValue(at: keys[...])
      ?? PredicateValue(KeyValueReading.value(at: keys, of: object))
  }

  /// The result in the descriptor's direction. It is applied last, so nil comes last in descending order, as in SQLite.
  func directed(_ result: ComparisonResult) -> ComparisonResult {
    ascending ? result : PredicateValue.reversed(result)
  }

  override var reversedSortDescriptor: Any {
    KeyedSortDescriptor(key: sortKey, ascending: !ascending, selector: sortSelector, by: block)
  }

  override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? KeyedSortDescriptor else { return false }
    if other === self { return true }
    return block == nil && other.block == nil && sortKey == other.sortKey && sortSelector == other.sortSelector
      && ascending == other.ascending
  }

  override var hash: Int { sortKey.hashValue ^ (ascending ? 1 : 0) }

  override var description: String {
    "(\(sortKey ?? "self"), \(ascending ? "ascending" : "descending"), \(sortSelector?.name ?? "compare:"))"
  }

  override func copy() -> Any { self }

  override func copy(with zone: NSZone? = nil) -> Any { self }

  /// The ascending order of two values: nil first, like NULL in SQLite. Values of different kinds have no order.
  func order(_ a: PredicateValue, _ b: PredicateValue) -> ComparisonResult {
    switch (a, b) {
    case (.null, .null): .orderedSame
    case (.null, _): .orderedAscending
    case (_, .null): .orderedDescending
    case (.string(let left), .string(let right)): ordering.compare(left, right)
    default: a.order(to: b) ?? .orderedSame
    }
  }
}
