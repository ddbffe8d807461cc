/// What a loose object, one without a context, has in place of a reference to its context: the objects to which its
/// to-one relationships refer. Its slots hold keys, by which only a context finds objects.
///
/// ```text
/// draft (no context)   slot "author" = temporary key of austen
///                      reference = LooseReference [("author", austen)]
/// context.insert(draft)
/// draft                slot "author" = the same key       reference = the context's
/// ```
///
/// Partners are retained, since nothing else may retain them: objects without a context that refer to each other retain
/// each other until they are inserted or their relationships are set to nil.
///
/// `@unchecked Sendable`: belongs to one object, which the program uses on one thread at a time, as it must.
final class LooseReference: ContextReference, @unchecked Sendable {
  /// An array: a few entries at most, one for each to-one relationship that is set.
  private(set) var partners: [(slot: Int, object: NSManagedObject)] = []
  /// The object's changes between `willChangeValue` and `didChangeValue`.
  let manualChanges = ManualChanges()

  init() { super.init(nil) }

  deinit {
    // A long chain of objects that nothing else holds must not be freed by as deep a recursion.
    var partners = takePartners()
    while var object = partners.popLast() {
      guard isKnownUniquelyReferenced(&object), let loose = object.reference as? LooseReference else { continue }
      partners += loose.takePartners()
    }
  }

  private func takePartners() -> [NSManagedObject] {
    defer { partners = [] }
    return partners.map(\.object)
  }

  /// The object to which a slot refers.
  ///
  /// Setting nil removes the entry.
  subscript(slot: Int) -> NSManagedObject? {
    get { partners.first { $0.slot == slot }?.object }
    set {
      partners.removeAll { $0.slot == slot }
      if let newValue { partners.append((slot, newValue)) }
    }
  }
}

/// Relationships of loose objects.
extension NSManagedObject {
  /// Whether the object was made without a context and has not come into one yet.
  ///
  /// False after the object left a context: such an object has values to read, and no way back.
  final var isLoose: Bool { !state.contains(.gone) && (reference == nil || reference is LooseReference) }

  /// The object at the other end of a to-one relationship of an object without a context.
  ///
  /// An object whose context was freed has keys that cannot be resolved: nil would be a wrong answer, so it traps.
  @inline(never)
  final func loosePartner(_ slot: Int) -> NSManagedObject? {
    if state.contains(.gone) { return nil }
    guard let loose = reference as? LooseReference else {
      fatalError("A relationship of \(objectID) cannot be followed: its context is gone.")
    }
    return loose[slot]
  }

  /// Setting nil creates no `LooseReference`.
  @inline(never)
  final func setLoosePartner(_ object: NSManagedObject?, slot: Int) {
    let loose = object == nil ? reference as? LooseReference : makeLooseReference()
    loose?[slot] = object
  }

  /// The partners of a loose object; nil for an object whose context is gone.
  final func makeLooseReference() -> LooseReference? {
    guard isLoose else { return nil }
    if let loose = reference as? LooseReference { return loose }
    let made = LooseReference()
    reference = made
    return made
  }

  /// Inserts a loose object, to which this one is about to refer, into this one's context: a save would lose it
  /// otherwise.
  ///
  /// Called by every change of a relationship before it refers to `object`. The test is for the common case: both in
  /// one context.
  @inline(__always)
  final func bring(_ object: NSManagedObject) {
    if object.reference !== reference || reference == nil { insertIfLoose(object) }
  }

  /// `awakeFromInsert()` of the object runs now.
  @inline(never)
  private final func insertIfLoose(_ object: NSManagedObject) {
    if let context = reference?.context, object.isLoose { context.insert(object) }
  }
}
