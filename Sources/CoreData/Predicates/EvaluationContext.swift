/// The object and the variables with which an expression is evaluated.
///
/// It is made once for each evaluation of a predicate and passed down the tree. SUBQUERY makes a changed copy for each
/// member. It is never stored.
struct EvaluationContext {
  /// `SELF`, from which key paths start.
  ///
  /// Nil for an expression that is evaluated without an object, such as the value of a batch update that is a constant.
  let object: Any?
  /// The object if it is a managed object, whose values are read without boxing them in `Any`.
  ///
  /// Whether an object is a managed one is asked once here, and not at each key path, because a dynamic cast of `Any`
  /// tries all bridges of Foundation first.
  let managedObject: NSManagedObject?
  /// The values of `$variables`, by name without the `$`.
  ///
  /// A variable that is bound to nothing has `NSNull`, so that "nil" and "not bound" differ.
  var variables: [String: Any]

  /// Whether the object has columns: a managed object, or a row of a store in memory.
  ///
  /// Columns have types, which decide how a constant is compared with them; other objects have values only: see
  /// `Comparison.Affinity`.
  let isRow: Bool

  init(object: Any?, variables: [String: Any]) {
    self.object = object
    self.managedObject = object.flatMap(NSManagedObject.from)
    self.isRow = managedObject != nil || object.map { type(of: $0) is AnyClass && $0 is any PersistentKeyed } ?? false
    self.variables = variables
  }

  /// The value of a variable. An unbound variable is a programming error and traps, as Apple's raises an exception.
  func value(ofVariable name: String) -> Any? {
    guard let value = variables[name] else {
      fatalError("A predicate was evaluated without a value for its variable $\(name).")
    }
    return value is NSNull ? nil : value
  }

  /// The same context with a variable bound to a member of a SUBQUERY's collection.
  func binding(_ name: String, to value: Any?) -> EvaluationContext {
    var copy = self
    copy.variables[name] = value ?? NSNull()
    return copy
  }
}
