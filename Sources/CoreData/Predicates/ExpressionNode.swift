/// The content of an `NSExpression`: one node of its tree.
///
/// `NSExpression` is one class with this enumeration inside, and not a class for each kind as Apple's private ones are,
/// so that a `switch` over it is complete: evaluation, SQL generation, printing, archiving and substitution each have
/// one, and the compiler names all of them when a kind is added.
///
/// ```text
/// author.name                  .keyPath(operand: nil, path: author.name)
/// $book.title                  .keyPath(operand: .variable("book"), path: title)
/// pages * 2                    .function("multiply:by:", operand: nil, [.keyPath(pages), .constant(2)])
/// FUNCTION(title, "length")    .function("length", operand: .keyPath(title), [])
/// books UNION $others          .set(.union, .keyPath(books), .variable("others"))
/// {1, pages}                   .aggregate([.constant(1), .keyPath(pages)])
/// SUBQUERY(books, $b, …)       .subquery(.keyPath(books), variable: "b", …)
/// TERNARY(a = 1, x, y)         .conditional(a = 1, .keyPath(x), .keyPath(y))
/// ```
enum ExpressionNode {
  /// The value as it was given, with optionals around it removed. `NSNull` and nil compare alike, and print as `<null>`
  /// and `nil`.
  case constant(Any?)
  /// `SELF`.
  case evaluatedObject
  /// `$name`, by its name without the sign. Evaluation looks it up in the bindings and traps without one.
  case variable(String)
  /// The value at `path` of `operand`, or of the evaluated object.
  case keyPath(operand: NSExpression?, path: KeyPathComponents)
  /// A predefined function by Apple's name ("sum:"), or with an operand a method of its value. The name is kept as
  /// text, since mapping models call methods that only the migration knows.
  case function(name: String, operand: NSExpression?, arguments: [NSExpression])
  case set(SetOperation, NSExpression, NSExpression)
  /// The members of the first expression for which the predicate holds, with the variable bound to each of them in
  /// turn.
  case subquery(NSExpression, variable: String, NSPredicate)
  /// `{a, b}`: a list whose members are evaluated one by one. A collection that is known as a whole is a constant.
  case aggregate([NSExpression])
  /// `ANYKEY`, which Apple's parser accepts. Its value is nil.
  case anyKey
  /// A closure with its arguments. `NSFetchRequestExpression` is one too, so that only its subclass knows of contexts.
  case block(NSExpression.Block, [NSExpression])
  /// TERNARY: the first expression if the predicate holds, else the second. The other one is not evaluated.
  case conditional(NSPredicate, NSExpression, NSExpression)
  /// `$name := value`. Its value is the assigned one; the variable itself is not set, since evaluation changes nothing.
  case assignment(String, NSExpression)
}

/// The operations on two collections.
///
/// Raw values are the words of the format.
enum SetOperation: String {
  case union = "UNION"
  case intersect = "INTERSECT"
  case minus = "MINUS"
}

/// A key path and its keys, split once, since evaluation needs the keys for each object, and printing and comparing the
/// text. Empty keys are dropped: "a..b" has two.
struct KeyPathComponents: Hashable {
  let text: String
  let keys: [String]

  init(_ text: String) {
    self.text = text
    self.keys = text.split(separator: ".", omittingEmptySubsequences: true).map(String.init)
  }

  init(keys: [String]) {
    self.text = keys.joined(separator: ".")
    self.keys = keys
  }
}

extension ExpressionNode {
  /// Whether two trees are equal. Block expressions never are, since code cannot be compared.
  ///
  /// Constants compare as predicates compare them, so 1 and 1.0 are equal here. The names of variables count: two
  /// SUBQUERYs that differ in them only are different trees.
  func isEqual(to other: ExpressionNode) -> Bool {
    switch (self, other) {
    // Nil and NSNull compare alike and print differently.
    case (.constant(let a), .constant(let b)): PredicateValue(a) == PredicateValue(b) && (a is NSNull) == (b is NSNull)
    case (.evaluatedObject, .evaluatedObject), (.anyKey, .anyKey): true
    case (.variable(let a), .variable(let b)): a == b
    case (.keyPath(let a, let path), .keyPath(let b, let otherPath)): path == otherPath && a == b
    case (.function(let name, let a, let arguments), .function(let otherName, let b, let otherArguments)):
      name == otherName && a == b && arguments == otherArguments
    case (.set(let a, let left, let right), .set(let b, let otherLeft, let otherRight)):
      a == b && left == otherLeft && right == otherRight
    case (.subquery(let a, let variable, let p), .subquery(let b, let otherVariable, let q)):
      variable == otherVariable && a == b && p.isStructurallyEqual(to: q)
    case (.aggregate(let a), .aggregate(let b)): a == b
    case (.conditional(let p, let a, let b), .conditional(let q, let otherA, let otherB)):
      p.isStructurallyEqual(to: q) && a == otherA && b == otherB
    case (.assignment(let a, let value), .assignment(let b, let otherValue)): a == b && value == otherValue
    default: false
    }
  }
}
