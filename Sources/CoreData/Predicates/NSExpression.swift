/// A computed value: one side of a comparison, a column of a dictionary result, a value of a batch update.
///
/// This module has its own class, since Foundation's on Linux has no usable initialiser. A file that names it imports
/// CoreData and not Foundation too: the name is ambiguous otherwise.
///
/// Expressions are immutable. Two are equal if their trees are.
///
/// ```swift
/// let words = NSExpression(
///   forFunction: "multiply:by:", arguments: [NSExpression(forKeyPath: "pages"), NSExpression(forConstantValue: 300)])
/// print(words.expressionValue(with: book, context: nil) ?? 0)
/// let more = NSPredicate(format: "%K > 100", "pages")
/// print(NSExpression(forConditional: more, trueExpression: words, falseExpression: NSExpression(forConstantValue: 0)))
/// ```
///
/// `NSExpression(format:)` makes most of them from text. Evaluation in memory fires the faults of the objects that it
/// reads, so it belongs on their context's queue. In a fetch SQL stores compute an expression in the database, or throw
/// 134070 if SQL cannot express it.
///
/// Source: https://developer.apple.com/documentation/foundation/nsexpression
open class NSExpression: NSObject, NSCopying {
  /// The kind of an expression. Raw values are Apple's.
  public enum ExpressionType: UInt, Sendable {
    /// A constant value.
    case constantValue = 0
    /// `SELF`
    case evaluatedObject = 1
    /// `$name`, bound when the expression is evaluated.
    case variable = 2
    /// A key path: `team.name`.
    case keyPath = 3
    /// A predefined function: `sum:(amount)`, `a + b`. So is an assignment, `$name := value`.
    case function = 4
    /// The members of either of two collections.
    case unionSet = 5
    /// The members of both of two collections.
    case intersectSet = 6
    /// The members of the first of two collections that the second lacks.
    case minusSet = 7
    /// `SUBQUERY(collection, $x, predicate)`
    case subquery = 13
    /// `{a, b}`
    case aggregate = 14
    /// `ANYKEY`
    case anyKey = 15
    /// A Swift closure.
    case block = 19
    /// `TERNARY(predicate, a, b)`
    case conditional = 20
    /// `NSFetchRequestExpression`
    case fetchRequest = 50
  }

  /// The closure of a block expression. It gets the evaluated object, the arguments' values (numbers as `NSNumber`,
  /// `NSNull` for nil) and the variables by name, and returns the value, `NSNull` for nil.
  public typealias Block = (Any?, [Any], NSMutableDictionary?) -> Any

  /// The only state, and immutable: that makes an expression safe on any thread as long as its constants are.
  let node: ExpressionNode

  /// The kind of a block expression, for subclasses that are another kind.
  var typeOfBlock: ExpressionType { .block }

  init(node: ExpressionNode) {
    self.node = node
    super.init()
  }

  /// A constant. Nil and `NSNull` both mean no value; a collection is one constant.
  ///
  /// ```swift
  /// let limit = NSExpression(forConstantValue: 500)
  /// let titles = NSExpression(forConstantValue: ["Emma", "Persuasion"])  // one collection
  /// ```
  ///
  /// In SQL a constant is bound as a parameter, so fetches that differ only in constants share one prepared statement.
  ///
  /// - Parameter value: a number, text, date, UUID, URL, data, managed object or its ID, or a collection of these; nil
  ///   for none. A mutable value is kept as it is: do not change it afterwards.
  public convenience init(forConstantValue value: Any?) {
    self.init(node: .constant(value.map { KeyValueReading.unwrapped($0) ?? NSNull() }))
  }

  /// The value at a key path of the evaluated object: "owner.name", "pages.@count".
  ///
  /// ```swift
  /// let name = NSExpression(forKeyPath: "author.name")
  /// print(name.expressionValue(with: book, context: nil) ?? "")
  /// ```
  ///
  /// The path may cross to-one relationships, where a nil on the way gives nil, and a to-many one, where the value is a
  /// collection of the members' values. A key that the object does not have gives nil in memory, where Apple's raises
  /// an exception; a fetch from SQL that has one throws 134070. An unknown collection operator traps when it is
  /// evaluated.
  ///
  /// - Parameter keyPath: keys with dots between them, which may include one collection operator: see Apple's "Using
  ///   Collection Operators".
  public convenience init(forKeyPath keyPath: String) {
    self.init(node: .keyPath(operand: nil, path: KeyPathComponents(keyPath)))
  }

  /// The value at a key path of modelled properties.
  ///
  /// Traps if the path has no name: see `ManagedKeyPathTable`.
  ///
  /// ```swift
  /// let pages = NSExpression(forKeyPath: \Book.pages)
  /// let writer = NSExpression(forKeyPath: \Book.author?.name)
  /// print(writer.keyPath)  // author.name
  /// ```
  ///
  /// The compiler checks the names, which for a text only the fetch does. The name is looked up once for each key path
  /// of the program.
  public convenience init<Root, Value>(forKeyPath keyPath: KeyPath<Root, Value>) {
    guard let name = keyPath._kvcKeyPathString else {
      fatalError("NSExpression(forKeyPath:): \(keyPath) has no name; use the string form.")
    }
    self.init(forKeyPath: name)
  }

  /// The value that is bound to `$name` when the expression is evaluated.
  ///
  /// ```swift
  /// let request = NSFetchRequest<Book>(entityName: "Book")
  /// request.predicate = NSPredicate(format: "pages > $LIMIT").withSubstitutionVariables(["LIMIT": 500])
  /// ```
  ///
  /// - Parameter name: the name without `$`. `expressionValue(with:context:)`, `evaluate(with:substitutionVariables:)`
  ///   and `withSubstitutionVariables(_:)` give it a value. A fetch whose predicate has a variable left throws 134070;
  ///   evaluation in memory traps.
  public convenience init(forVariable name: String) {
    self.init(node: .variable(name))
  }

  /// A call of a predefined function.
  ///
  /// ```swift
  /// let longest = NSExpression(forFunction: "max:", arguments: [NSExpression(forKeyPath: "books.pages")])
  /// print(longest.expressionValue(with: author, context: nil) ?? 0)
  /// ```
  ///
  /// `arguments` holds expressions; any other value becomes a constant. The names are those of Apple's
  /// `init(forFunction:arguments:)`; an unknown name traps.
  ///
  /// Statistical functions (`sum:`, `count:`, `min:`, `max:`, `average:`, `median:`, `stddev:`, `mode:`) take one
  /// collection, or in a dictionary fetch with `propertiesToGroupBy` the rows of a group. Operators have names too:
  /// `add:to:`, `from:subtract:`, `multiply:by:`, `divide:by:`, `modulus:by:`. A missing or nil argument gives nil.
  /// `random`, `mode:` and indexes cannot be computed in SQL (134070); `now()` is evaluated once for the whole fetch.
  ///
  /// ```text
  /// sum: count: min: max: average: median: mode: stddev:      of a collection, or of several arguments
  /// add:to: from:subtract: multiply:by: divide:by:            + - * /   integers stay integers as long as they fit
  /// modulus:by: abs: negate:                                  remainder with the sign of the first; -x
  /// sqrt: log: ln: exp: raise:toPower:                        doubles; ** is raise:toPower:
  /// ceiling: floor: trunc:                                    up, down, towards zero
  /// bitwiseAnd:with: bitwiseOr:with: bitwiseXor:with:         & | ^
  /// leftshift:by: rightshift:by: onesComplement:              << >> ~
  /// uppercase: lowercase: canonical: length:                  texts; canonical: drops case and accents
  /// now random random: randomn:                               the time; from 0 to below 1, or below the argument
  /// castObject:toType: objectFrom:withIndex: noindex:         CAST(x, "NSDate"), list[0], the argument itself
  /// ```
  ///
  /// - Parameters:
  ///   - name: with its colons, one for each argument: "raise:toPower:".
  ///   - arguments: the arguments in the order of the name.
  public convenience init(forFunction name: String, arguments: [Any]) {
    guard PredicateFunction(rawValue: name) != nil else {
      fatalError("NSExpression(forFunction:arguments:): there is no function \"\(name)\".")
    }
    self.init(node: .function(name: name, operand: nil, arguments: arguments.map(NSExpression.wrapping)))
  }

  /// A call of a method of the value of `target`, which a format writes `FUNCTION(name, "uppercaseString")`. The
  /// methods in the list below exist, `valueForKeyPath:`, and the predefined functions with `target` as their first
  /// argument. An unknown name traps; for a variable only when the expression is evaluated, since mapping models call
  /// methods of `$manager` and `$entityPolicy`.
  ///
  /// ```swift
  /// let upper = NSExpression(
  ///   forFunction: NSExpression(forKeyPath: "title"), selectorName: "uppercaseString", arguments: nil)
  /// print(upper.expressionValue(with: book, context: nil) ?? "")
  /// ```
  ///
  /// In SQL a method becomes a call of `cd_method`, which runs the same code for each row and cannot use an index. A
  /// PostgreSQL store has no such function: the fetch throws 134070.
  ///
  /// ```text
  /// texts        length uppercaseString lowercaseString capitalizedString substringToIndex: substringFromIndex:
  ///              stringByAppendingString: stringByReplacingOccurrencesOfString:withString: hasPrefix: hasSuffix:
  ///              containsString: componentsSeparatedByString: compare: intValue doubleValue boolValue
  ///              lastPathComponent pathExtension …
  /// numbers      intValue doubleValue boolValue stringValue compare: decimalNumberByAdding: …
  /// dates        dateByAddingTimeInterval: timeIntervalSinceDate: timeIntervalSince1970 earlierDate: laterDate:
  /// URLs         absoluteString host path scheme       UUIDs   UUIDString       data   length
  /// collections  count firstObject lastObject objectAtIndex: containsObject: componentsJoinedByString: allKeys …
  /// any value    isEqual: description self valueForKeyPath:
  /// ```
  ///
  /// - Parameters:
  ///   - target: the receiver. A nil receiver gives nil; a receiver without such a method traps when it is evaluated.
  ///   - name: Apple's selector with its colons.
  ///   - arguments: one for each colon. An argument that the method cannot use, such as an index outside of the text,
  ///     gives nil.
  public convenience init(forFunction target: NSExpression, selectorName name: String, arguments: [Any]?) {
    guard PredicateFunction(rawValue: name) != nil || PredicateMethod.exists(name, of: target) else {
      fatalError("NSExpression(forFunction:selectorName:arguments:): there is no method \"\(name)\" here.")
    }
    self.init(node: .function(name: name, operand: target, arguments: (arguments ?? []).map(NSExpression.wrapping)))
  }

  /// A collection of expressions: the `{1, x, "a"}` of a format. Each member is evaluated by itself, so it may be a key
  /// path; any other value becomes a constant.
  ///
  /// ```swift
  /// let both = NSExpression(forAggregate: [NSExpression(forKeyPath: "title"), "Emma"])
  /// ```
  ///
  /// It is used on the right of IN and BETWEEN, whose bounds may be columns: `pages BETWEEN {minimum, maximum}`. A list
  /// of constants alone is better passed as one constant, which is looked up as a set.
  public convenience init(forAggregate subexpressions: [Any]) {
    self.init(node: .aggregate(subexpressions.map(NSExpression.wrapping)))
  }

  /// The members of either collection, each once. Not supported in fetches from SQL stores over relationships (134070).
  ///
  /// ```swift
  /// let books = NSExpression(forKeyPath: "books")
  /// let all = NSExpression(forUnionSet: books, with: NSExpression(forConstantValue: Set([book])))
  /// print((all.expressionValue(with: author, context: nil) as? Set<Book>)?.count ?? 0)
  /// ```
  ///
  /// The value is a set; members are equal as predicates compare them. A side that is nil or no collection has no
  /// members. Two constants are combined in memory, so they may be a part of any fetch.
  public convenience init(forUnionSet left: NSExpression, with right: NSExpression) {
    self.init(node: .set(.union, left, right))
  }

  /// The members of both collections. Not supported in fetches from SQL stores over relationships (134070): use
  /// `SUBQUERY(books, $b, $b IN %@)`.
  public convenience init(forIntersectSet left: NSExpression, with right: NSExpression) {
    self.init(node: .set(.intersect, left, right))
  }

  /// The members of `left` that `right` lacks. Not supported in fetches from SQL stores over relationships (134070):
  /// use `SUBQUERY(books, $b, NOT $b IN %@)`.
  ///
  /// ```swift
  /// let others = NSExpression(
  ///   forMinusSet: NSExpression(forKeyPath: "books"), with: NSExpression(forConstantValue: Set([book])))
  /// print((others.expressionValue(with: author, context: nil) as? Set<Book>)?.count ?? 0)
  /// ```
  public convenience init(forMinusSet left: NSExpression, with right: NSExpression) {
    self.init(node: .set(.minus, left, right))
  }

  /// The members of a collection for which `predicate` holds. It is evaluated with `$variable` bound to each member.
  ///
  /// ```swift
  /// let long = NSExpression(
  ///   forSubquery: NSExpression(forKeyPath: "books"), usingIteratorVariable: "book",
  ///   predicate: NSPredicate(format: "$book.pages > 500 AND $book.isRead == NO"))
  /// print((long.expressionValue(with: author, context: nil) as? [Book])?.count ?? 0)
  /// ```
  ///
  /// A format writes it `SUBQUERY(books, $book, …)`. Use it to put several conditions on the same member: two ANYs may
  /// be true for two different members.
  ///
  /// - Parameters:
  ///   - collection: mostly the key path of a to-many relationship.
  ///   - variable: the name of the variable, without `$`.
  ///   - predicate: the condition on a member.
  public convenience init(
    forSubquery collection: NSExpression, usingIteratorVariable variable: String, predicate: NSPredicate
  ) {
    self.init(node: .subquery(collection, variable: variable, predicate))
  }

  /// The first expression if the predicate holds, else the second.
  ///
  /// ```swift
  /// let size = NSExpression(
  ///   forConditional: NSPredicate(format: "pages > 500"), trueExpression: NSExpression(forConstantValue: "long"),
  ///   falseExpression: NSExpression(forConstantValue: "short"))
  /// print(size.expressionValue(with: book, context: nil) ?? "")
  /// ```
  ///
  /// In SQL it becomes `CASE WHEN … THEN … ELSE … END`, whose two values have to be of one kind: a text and a number
  /// throw 134070. A format writes it `TERNARY(pages > 500, "long", "short")`.
  public convenience init(
    forConditional predicate: NSPredicate, trueExpression: NSExpression, falseExpression: NSExpression
  ) {
    self.init(node: .conditional(predicate, trueExpression, falseExpression))
  }

  /// A value that a closure computes from the evaluated object, the arguments' values and the variables. A fetch from
  /// an SQL store throws 134070 for it. The closure is called on the thread that evaluates, once for each object.
  ///
  /// ```swift
  /// let length = NSExpression(
  ///   block: { _, arguments, _ in (arguments[0] as? String)?.count ?? 0 },
  ///   arguments: [NSExpression(forKeyPath: "title")])
  /// print(length.expressionValue(with: book, context: nil) ?? 0)
  /// ```
  public convenience init(block: @escaping Block, arguments: [NSExpression]?) {
    self.init(node: .block(block, arguments ?? []))
  }

  /// The evaluated object itself: `SELF`.
  ///
  /// It is the left side of `SELF IN %@`, where the argument holds objects or object IDs. In SQL it is the row's key.
  open class func expressionForEvaluatedObject() -> NSExpression {
    NSExpression(node: .evaluatedObject)
  }

  /// `ANYKEY`, which Spotlight's queries use. Its value is nil, and a fetch from an SQL store throws 134070 for it.
  open class func expressionForAnyKey() -> NSExpression {
    NSExpression(node: .anyKey)
  }

  /// The expression's value. Numbers are `NSNumber`; a key path through a to-many relationship gives a set of the
  /// members' values, each once, or an ordered set if the relationship is ordered.
  ///
  /// ```swift
  /// let price = NSExpression(format: "pages * $CENTS")
  /// print(price.expressionValue(with: book, context: ["CENTS": 3]) ?? 0)
  /// ```
  ///
  /// Nil if a key path leads to no value. It fires the faults of the objects that it reads: call it on their context's
  /// queue.
  ///
  /// - Parameters:
  ///   - object: the object to which `SELF` and key paths refer.
  ///   - context: the values of variables, by name without `$`. A variable without a value traps.
  open func expressionValue(with object: Any?, context: NSMutableDictionary?) -> Any? {
    var variables: [String: Any] = [:]
    for (key, value) in context ?? [:] {
      if let key = key as? String { variables[key] = value }
    }
    return FoundationValue.of(value(in: EvaluationContext(object: object, variables: variables)))
  }

  /// The expression in the syntax of a format.
  open override var description: String { printed }

  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSExpression else { return false }
    return other === self || node.isEqual(to: other.node)
  }

  open override var hash: Int { printed.hashValue }

  /// The expression itself: it is immutable.
  open func copy(with zone: NSZone? = nil) -> Any { self }

  /// The value itself if it is an expression, else a constant.
  static func wrapping(_ value: Any) -> NSExpression {
    value as? NSExpression ?? NSExpression(forConstantValue: value)
  }
}
