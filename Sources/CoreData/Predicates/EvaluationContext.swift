/// What an expression is evaluated against.
struct EvaluationContext {
  /// `SELF`, and what key paths start from.
  let object: Any?
  /// The same where it is a managed object, whose values need no detour through `Any`.
  let managedObject: NSManagedObject?
  /// The values of `$variables`, by name without the `$`.
  var variables: [String: Any]

  init(object: Any?, variables: [String: Any]) {
    self.object = object
    self.managedObject = object.flatMap(NSManagedObject.from)
    self.variables = variables
  }

  /// The value of a variable. One that nobody bound is a programmer's error, as on Apple's platforms.
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
