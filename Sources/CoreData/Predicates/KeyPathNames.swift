internal import Synchronization

/// The names of Swift key paths: what key-value coding would call them.
///
/// Objective-C knows these by itself; here generated code brings a table for each class (`ManagedKeyPathTable`), which is found
/// without registration, and other code may register names.
public enum KeyPathNames {
  /// Key paths and types are immutable; only look-ups happen under the lock.
  private struct Tables: @unchecked Sendable {
    var registered: [AnyKeyPath: String] = [:]
    /// The properties of the classes that were asked for, own and inherited.
    var ofClass: [ObjectIdentifier: ClassTable] = [:]
    var chains: [AnyKeyPath: String] = [:]
  }

  private static let tables = Mutex(Tables())

  /// Adds names; a later name for the same path replaces the earlier one.
  public static func register(_ names: [AnyKeyPath: String]) {
    let added = Tables(registered: names)
    tables.withLock { $0.registered.merge(added.registered) { $1 } }
  }

  static func name(of keyPath: AnyKeyPath) -> String? {
    let wanted = Tables(registered: [keyPath: ""])
    let known = tables.withLock { tables in
      wanted.registered.keys.first.flatMap { tables.registered[$0] ?? tables.chains[$0] }
    }
    if let known { return known }
    guard let root = type(of: keyPath).rootType as? NSManagedObject.Type, let name = name(of: keyPath, from: root)
    else { return nil }
    let found = Tables(chains: [keyPath: name])
    tables.withLock { $0.chains.merge(found.chains) { $1 } }
    return name
  }

  /// One property after the other, each looked for in the class that the one before leads to.
  private static func name(of keyPath: AnyKeyPath, from root: NSManagedObject.Type) -> String? {
    guard let steps = KeyPathSteps(keyPath) else { return table(of: root).whole[keyPath] }
    var names: [String] = []
    var next: Any.Type = root
    for property in steps.properties {
      let type = (next as? any OptionalValue.Type)?.wrappedType ?? next
      guard let owner = type as? NSManagedObject.Type, let found = table(of: owner).properties[property]
      else { return nil }
      names.append(found.name)
      next = found.valueType
    }
    return names.joined(separator: ".")
  }

  private static func table(of type: NSManagedObject.Type) -> ClassTable {
    let key = ObjectIdentifier(type)
    if let known = tables.withLock({ $0.ofClass[key] }) { return known }
    var table = ClassTable()
    for source in ManagedClasses.keyPathTables where type.isSubclass(of: source.objectClass) {
      for (path, name) in source.keyPaths { table.add(path, name) }
    }
    // A class without a table may get one with an image that is opened later.
    if !table.whole.isEmpty { tables.withLock { [table] in $0.ofClass[key] = table } }
    return table
  }
}

/// The properties of a class by what key paths are made of.
///
/// `@unchecked Sendable`: key paths and types are immutable.
private struct ClassTable: @unchecked Sendable {
  private(set) var properties: [KeyPathSteps.Property: (name: String, valueType: Any.Type)] = [:]
  private(set) var whole: [AnyKeyPath: String] = [:]

  mutating func add(_ path: AnyKeyPath, _ name: String) {
    whole[path] = name
    guard let steps = KeyPathSteps(path), steps.properties.count == 1 else { return }
    properties[steps.properties[0]] = (name, type(of: path).valueType)
  }
}

/// The names of a class's properties, as generated code knows them.
///
/// Every type of the program that conforms is found when a key path's name is first asked for; nothing has to be registered.
/// Declare it public or `@usableFromInline`: optimised builds leave out what nobody refers to.
///
///     @usableFromInline enum PersonKeyPaths: ManagedKeyPathTable {
///       @usableFromInline static var objectClass: NSManagedObject.Type { Person.self }
///       @usableFromInline static var keyPaths: [AnyKeyPath: String] { [\Person.name: "name", \Person.age: "age"] }
///     }
///
/// With it `\Person.name` serves `NSSortDescriptor(keyPath:ascending:)`, `NSExpression(forKeyPath:)` and predicates; and so do
/// `\Employee.name`, if Employee inherits from Person, and `\Person.team?.name`, if Team has a table too.
public protocol ManagedKeyPathTable {
  /// The class whose own properties the table has.
  static var objectClass: NSManagedObject.Type { get }
  /// The name of each property, by its key path.
  static var keyPaths: [AnyKeyPath: String] { get }
}

extension AnyKeyPath {
  /// The path's name. Takes the place of the standard library's property, which is nil on Linux.
  public var _kvcKeyPathString: String? { KeyPathNames.name(of: self) }
}
