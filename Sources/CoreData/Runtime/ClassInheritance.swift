/// Whether a class is another one, or inherits from it.
func inherits(_ type: AnyClass, from ancestor: AnyClass) -> Bool {
  sequence(first: type, next: _getSuperclass).contains { $0 == ancestor }
}

extension Sequence where Element: AnyObject {
  /// The first object that is not of a class; nil if all are.
  ///
  /// Of objects that follow each other, each class is looked at once: casting each object would cost more than reading
  /// its row.
  func first(notOf expectedClass: AnyClass) -> Element? {
    var lastClass: AnyClass?
    for object in self {
      // As an existential: in the code that the optimiser specialises for elements of the type AnyObject, the type of
      // the element itself is AnyObject, and not the object's class.
      let type: AnyClass = type(of: object as AnyObject)
      if type == lastClass { continue }
      guard inherits(type, from: expectedClass) else { return object }
      lastClass = type
    }
    return nil
  }
}
