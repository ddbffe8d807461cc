/// Whether a class is another one, or inherits from it.
///
/// Why not a cast: `object is Book` asks the runtime for each object, and here only classes are compared, once for each
/// run of objects of one class. `_getSuperclass` is the standard library's way to a class's superclass without
/// Objective-C.
///
/// Used by fetches (`FoundObjects.areAll`) and fetched results, before they reinterpret an array of objects as one of
/// the program's class.
func inherits(_ type: AnyClass, from ancestor: AnyClass) -> Bool {
  sequence(first: type, next: _getSuperclass).contains { $0 == ancestor }
}

extension Sequence where Element: AnyObject {
  /// The first object that is not of a class; nil if all are.
  ///
  /// Of objects that follow each other, each class is looked at once: casting each object would cost more than reading
  /// its row.
  ///
  /// O(n) loads of the objects' first words, and a walk up the superclasses for each run.
  ///
  /// - Returns: the first object of another class, for the message of the error.
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
