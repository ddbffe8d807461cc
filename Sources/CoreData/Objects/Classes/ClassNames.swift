internal import Synchronization

/// The name by which a model finds the class again: "Module.Person", or "Module.Outer.Person" for a nested one.
/// `NSManagedObject` itself has no module.
///
/// Foundation's function traps for a nested class. Classes whose name does not lead to them get a number,
/// "Module.Person#1", which holds until the process ends: generic classes, and private or local ones that share their
/// name. Apple's names of all of these are mangled.
///
/// ```swift
/// let entity = NSEntityDescription()
/// entity.name = "Book"
/// entity.managedObjectClassName = NSStringFromClass(Book.self)
/// ```
///
/// Take it where a model is built in code: `managedObjectClassName` needs a name that the model finds again, and a
/// literal does not follow a renaming. Any thread. It costs a look-up, at the first call of the process a millisecond
/// for the list of all classes.
///
/// - Parameter aClass: a class of managed objects. For other classes the compiler takes Foundation's function.
///
/// Source: Apple's documentation of `NSStringFromClass(_:)`.
public func NSStringFromClass(_ aClass: NSManagedObject.Type) -> String {
  if aClass == NSManagedObject.self { return "NSManagedObject" }
  return ClassNames.name(of: aClass) { name in
    if case .found(let type) = ManagedClasses.find(name) { type == aClass } else { false }
  }
}

/// Classes that got a number because their name alone does not lead to them.
///
/// The number is given once and kept for the life of the process, so the name is not for files: a model that is saved
/// with it does not find the class in another run.
enum ClassNames {
  private static let numbered = Mutex<[String: AnyClass]>([:])

  /// The class that got this name.
  ///
  /// Asked before the lists of types: a numbered name is in none of them.
  static func type(named name: String) -> AnyClass? { numbered.withLock { $0[name] } }

  /// - Parameter leads: whether looking the name up gives this class. A name that leads to another class, or to
  ///   several, is not enough.
  static func name(of type: AnyClass, isFoundBy leads: (String) -> Bool) -> String {
    let isReadable = RuntimeAssumptions.typeDescriptors.holds
    let path = isReadable ? TypeDescriptor(classMetadata: type).path.joined(separator: ".") : _typeName(type)
    if leads(path) { return path }
    return numbered.withLock { numbered in
      for number in 1... {
        let name = "\(path)#\(number)"
        if numbered[name] == nil { numbered[name] = type }
        if numbered[name] == type { return name }
      }
      return path
    }
  }
}
