/// Gives `NSManagedObject` the initialiser that a metatype can call: `Self(entity:insertInto:)` in a protocol
/// extension, `self.init(entity:insertInto:)` in a class function.
///
/// ```swift
/// let type: NSManagedObject.Type = Book.self  // known at run time only, for example
/// let object = type.init(entity: type.entity(), insertInto: context)
/// print(object is Book)  // true
/// ```
///
/// In a class Swift allows that only for a `required` initialiser, which every subclass with a designated initialiser
/// would have to repeat. With Apple's framework no subclass has to. So the class has a plain initialiser, and this
/// protocol has one of the same name, which the compiler takes where it cannot take the other.
///
/// Programs do not conform to it: `NSManagedObject` does, and its subclasses inherit that.
public protocol ManagedObjectInitializable {}

extension NSManagedObject: ManagedObjectInitializable {}

extension ManagedObjectInitializable {
  /// Creates an object of the class that the model gives the entity, or of this one, as the class's own initialiser
  /// does. Where both initialisers fit, the compiler takes that of the class.
  ///
  /// - Parameters:
  ///   - entity: an entity of the context's model.
  ///   - context: the context of the new object; nil for none.
  @_disfavoredOverload
  public init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
    // NSManagedObject alone conforms, and a class function of a subclass has that subclass here.
    guard let type = Self.self as? NSManagedObject.Type else { fatalError("\(Self.self) is no NSManagedObject.") }
    // A metatype in a variable gives its static class, while the entity knows its own.
    let modelled = entity.layout.objectClass
    let object = (modelled is Self.Type ? modelled : type).init(unborn: entity)
    context?.insert(object)
    guard let made = object as? Self else { fatalError("\(type) made an object of another class.") }
    self = made
  }
}
