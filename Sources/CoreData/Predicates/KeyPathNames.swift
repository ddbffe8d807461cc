internal import Synchronization

/// The property names of Swift key paths: `\Person.name` is "name".
///
/// Objective-C's runtime knows these names. Here generated code has a table for each class (`ManagedKeyPathTable`),
/// which is found without registration; `register` adds names by hand. Safe on any thread.
///
/// ```swift
/// KeyPathNames.register([\Book.title: "title"])  // what generated code does for all properties of a model
/// print((\Book.title as AnyKeyPath)._kvcKeyPathString ?? "")
/// ```
///
/// `NSSortDescriptor(keyPath:ascending:)`, `NSExpression(forKeyPath:)`, `#Predicate` and `observe(_:)` need the names.
/// The first look-up for a class searches the program's tables, which takes longer than later ones; results are kept as
/// long as the process lives.
public enum KeyPathNames {
  /// `@unchecked Sendable`: key paths and types are immutable, and the tables are used under a lock only.
  private struct Tables: @unchecked Sendable {
    /// What `register` was given.
    var registered: [AnyKeyPath: String] = [:]
    /// The key paths of each registered name.
    var registeredByName: [String: [AnyKeyPath]] = [:]
    /// The own and inherited properties of each class that was asked for.
    var ofClass: [ObjectIdentifier: ClassTable] = [:]
    /// The names that were put together from several steps, or found through a superclass.
    var chains: [AnyKeyPath: String] = [:]
  }

  private static let tables = Mutex(Tables())

  /// Adds names for key paths that no table has, such as those of private properties. A later name for a key path
  /// replaces an earlier one.
  ///
  /// Call it before the first use of a key path, for example at the program's start. A property that is looked up by
  /// its name is searched in the class's table first.
  ///
  /// - Parameter names: the property's name for each key path. A path of several steps may have a name with dots.
  public static func register(_ names: [AnyKeyPath: String]) {
    let added = Tables(registered: names)
    tables.withLock { tables in
      tables.registered.merge(added.registered) { $1 }
      for (path, name) in added.registered { tables.registeredByName[name, default: []].append(path) }
    }
  }

  /// The key path of a class's property with this name, if a table has it or it was registered.
  ///
  /// `value(forKey:)` reads computed properties through it. Of registered paths it takes the first whose root is the
  /// class or one of its superclasses.
  static func keyPath(named name: String, of type: NSManagedObject.Type) -> AnyKeyPath? {
    if let path = table(of: type).byName[name] { return path }
    let paths = tables.withLock { Tables(registeredByName: [name: $0.registeredByName[name] ?? []]) }
    return paths.registeredByName[name]?.first { path in
      (Swift.type(of: path).rootType as? NSManagedObject.Type).map { type.isSubclass(of: $0) } ?? false
    }
  }

  /// The methods of a class that validate one property each, by the property's name.
  static func validations(of type: NSManagedObject.Type) -> [String: ManagedValidation] { table(of: type).validations }

  /// The key path's name; nil if no table has it. In the order of cost: a registered name or one found before, else the
  /// steps of the path, each in the table of its class.
  ///
  /// Key paths are not `Sendable`, so they go into the locked closure inside of a `Tables` value, which says that they
  /// are immutable.
  static func name(of keyPath: AnyKeyPath) -> String? {
    let searchedKeys = Tables(registered: [keyPath: ""])
    let cachedName = tables.withLock { tables in
      searchedKeys.registered.keys.first.flatMap { tables.registered[$0] ?? tables.chains[$0] }
    }
    if let cachedName { return cachedName }
    guard let root = type(of: keyPath).rootType as? NSManagedObject.Type, let name = name(of: keyPath, from: root)
    else { return nil }
    let newChain = Tables(chains: [keyPath: name])
    tables.withLock { $0.chains.merge(newChain.chains) { $1 } }
    return name
  }

  /// The name of a path, made property by property: each is looked up in the class to which the previous one leads.
  ///
  /// So `\Book.author?.name` is "author" of Book's table, whose value is an Author, then "name" of Author's table.
  /// Where the memory layout of key paths is not as expected, only whole paths that a table lists are known.
  private static func name(of keyPath: AnyKeyPath, from root: NSManagedObject.Type) -> String? {
    guard let steps = KeyPathSteps(keyPath) else { return table(of: root).whole[keyPath] }
    var names: [String] = []
    var next: Any.Type = root
    for property in steps.properties {
      let type = (next as? any OptionalValue.Type)?.wrappedType ?? next
      guard let owner = type as? NSManagedObject.Type, let entry = table(of: owner).properties[property]
      else { return nil }
      names.append(entry.name)
      next = entry.valueType
    }
    return names.joined(separator: ".")
  }

  /// The names of a class and its superclasses, made at the first question. Two threads may both make it; the results
  /// are equal.
  ///
  /// The tables come in the order of the classes, superclasses first, whatever their order in the program's memory: a
  /// property or a validation of a class takes the place of an inherited one of that name.
  private static func table(of type: NSManagedObject.Type) -> ClassTable {
    let key = ObjectIdentifier(type)
    if let table = tables.withLock({ $0.ofClass[key] }) { return table }
    var table = ClassTable()
    let sources = ManagedClasses.keyPathTables.filter { type.isSubclass(of: $0.objectClass) }
      .sorted { $0.objectClass != $1.objectClass && $1.objectClass.isSubclass(of: $0.objectClass) }
    for source in sources {
      for (path, name) in source.keyPaths { table.add(path, name) }
      table.validations.merge(source.validations) { $1 }
    }
    // A class without a table is asked again: a library that is loaded later may bring one.
    if !table.isEmpty { tables.withLock { [table] in $0.ofClass[key] = table } }
    return table
  }
}

/// The names of a class's properties, by the parts of their key paths.
///
/// `@unchecked Sendable`: key paths and types are immutable.
private struct ClassTable: @unchecked Sendable {
  private(set) var properties: [KeyPathSteps.Property: (name: String, valueType: Any.Type)] = [:]
  private(set) var whole: [AnyKeyPath: String] = [:]
  private(set) var byName: [String: AnyKeyPath] = [:]
  var validations: [String: ManagedValidation] = [:]

  var isEmpty: Bool { whole.isEmpty && validations.isEmpty }

  mutating func add(_ path: AnyKeyPath, _ name: String) {
    whole[path] = name
    byName[name] = path
    guard let steps = KeyPathSteps(path), steps.properties.count == 1 else { return }
    properties[steps.properties[0]] = (name, type(of: path).valueType)
  }
}

/// The names of a class's properties. `ModelCompilerPlugin` generates one table for each class.
///
/// ```swift
/// final class Person: NSManagedObject {
///   @ManagedAttribute("name") var name: String?
/// }
///
/// @usableFromInline enum PersonKeyPaths: ManagedKeyPathTable {
///   @usableFromInline static var objectClass: NSManagedObject.Type { Person.self }
///   @usableFromInline static var keyPaths: [AnyKeyPath: String] { [\Person.name: "name"] }
/// }
/// ```
///
/// Declare the type public or `@usableFromInline`, since optimised builds remove types that nothing refers to.
///
/// The table makes `\Person.name` usable in `NSSortDescriptor(keyPath:ascending:)`, `NSExpression(forKeyPath:)` and
/// predicates, and `\Employee.name` too if Employee inherits from Person. `\Person.team?.name` needs a table of Team.
///
/// `value(forKey:)` finds a computed property in the table, so predicates in memory, sort descriptors and sections can
/// use it.
///
/// The types are found by their conformance records in the program's memory, as Swift's own casts find them, so a table
/// needs no call that registers it, and a library that is loaded later may bring more.
///
/// Source: https://github.com/swiftlang/swift/blob/main/docs/ABI/TypeMetadata.rst, "Protocol Conformance Records".
public protocol ManagedKeyPathTable {
  /// The class whose own properties the table lists, without inherited ones.
  static var objectClass: NSManagedObject.Type { get }
  /// The property names by key path.
  ///
  /// Read once for each class. A table in another file cannot list private properties: use `KeyPathNames.register(_:)`.
  static var keyPaths: [AnyKeyPath: String] { get }
  /// The class's own methods `validateNAME(_:)`, by the names of the properties that they validate. Default: none.
  ///
  /// `validateValue(_:forKey:)` calls them by the property's name, as key-value validation does on Apple's platforms.
  static var validations: [String: ManagedValidation] { get }
}

extension ManagedKeyPathTable {
  /// No methods: only the model's rules validate objects of the class.
  public static var validations: [String: ManagedValidation] { [:] }
}

/// Calls an object's method `validateNAME(_:)`.
///
/// It throws for a value that is refused, or replaces it through the pointer.
public typealias ManagedValidation =
  (NSManagedObject, AutoreleasingUnsafeMutablePointer<AnyObject?>) throws -> Void

/// The pointer in the signature of `validateNAME(_:)`, so that the same source compiles on Linux and on a Mac.
public typealias AutoreleasingUnsafeMutablePointer<Pointee> = UnsafeMutablePointer<Pointee>

extension AnyKeyPath {
  /// The path's name, "name" or "team.name"; nil if it is unknown. It takes the place of the standard library's
  /// property, which is always nil on Linux.
  ///
  /// ```swift
  /// print((\Book.author?.name)._kvcKeyPathString ?? "unknown")  // author.name
  /// ```
  public var _kvcKeyPathString: String? { KeyPathNames.name(of: self) }
}
