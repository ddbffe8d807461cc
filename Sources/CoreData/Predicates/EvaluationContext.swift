/// The object and the variables with which an expression is evaluated.
struct EvaluationContext {
  /// `SELF`, from which key paths start.
  let object: Any?
  /// The object if it is a managed object, whose values are read without boxing them in `Any`.
  let managedObject: NSManagedObject?
  /// The values of `$variables`, by name without the `$`.
  var variables: [String: Any]

  /// Whether the object has columns: a managed object, or a row of a store in memory.
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

  func binding(_ name: String, to value: Any?) -> EvaluationContext {
    var copy = self
    copy.variables[name] = value ?? NSNull()
    return copy
  }
}
