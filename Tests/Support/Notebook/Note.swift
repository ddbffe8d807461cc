import CoreData

// Handwritten classes with `@NSManaged`, as they would be on a Mac. Each property stands for a type or a form of
// declaration that the generated accessors have to supply.

/// The superclass of all classes here; no entity has it.
open class Item: NSManagedObject {
  /// An inherited property. `awakeFromInsert()` sets it.
  @NSManaged public var created: Date?
  @NSManaged private var primitiveCreated: Date?

  open override func awakeFromInsert() {
    super.awakeFromInsert()
    primitiveCreated = Date(timeIntervalSinceReferenceDate: 1)
  }

  /// The primitive value of `created`, read through a private accessor.
  public var createdPrimitively: Date? { primitiveCreated }
}

/// A note, with a property of every supported type.
public class Note: Item {
  /// A type that declarations below name by its alias.
  public typealias Notes = Set<Note>

  /// A mandatory string.
  @NSManaged public var title: String
  /// A property with a private setter.
  @NSManaged public private(set) var views: Int64
  /// Two properties in one declaration.
  @NSManaged public var isPinned: Bool, rank: Int16
  /// An implicitly unwrapped and an optional string in one declaration.
  @NSManaged public var subtitle: String!, body: String?
  /// A number as an object.
  @NSManaged public var number: NSNumber?
  /// A decimal number.
  @NSManaged public var price: NSDecimalNumber?
  /// A UUID and a URL, whose types FoundationEssentials declares.
  @NSManaged public var identifier: UUID?, link: URL?
  /// Binary data.
  @NSManaged public var attachment: Data?
  /// A 64-bit floating-point number.
  @NSManaged public var score: Double
  /// A 32-bit floating-point number.
  @NSManaged public var weight: Float
  /// A transformable value with a generic type.
  @NSManaged public var words: [String]?
  /// A composite attribute.
  @NSManaged public var shelf: [String: Any]?
  /// A to-one relationship.
  @NSManaged public var parent: Note?
  /// A to-many relationship as a set of objects without a type.
  @NSManaged public var children: NSSet?
  @NSManaged var tags: Set<Label>
  /// An ordered to-many relationship.
  @NSManaged public var steps: NSOrderedSet?
  /// A to-many relationship whose type is an alias.
  @NSManaged public var stepOf: Notes
  /* @NSManaged var inAComment: Int */
  let text = "@NSManaged var inAString: \("a string \(1)") "

  /// The first letter of the title, for sections.
  public var initial: String { title.prefix(1).description }

  /// Refuses a negative score.
  public func validateScore(_ value: AutoreleasingUnsafeMutablePointer<AnyObject?>) throws {
    if let score = value.pointee as? Double, score < 0 { throw CocoaError(.validationNumberTooSmall) }
  }

  /// Counts `views` up through the private setter.
  public func view() { views += 1 }
}

extension Note {
  /// Adds one object to a to-many relationship.
  @NSManaged public func addToChildren(_ value: Note)
  /// Adds several objects to a to-many relationship.
  @NSManaged public func addToChildren(_ values: NSSet)
  /// Removes several objects from a to-many relationship.
  @NSManaged public func removeFromChildren(_ values: NSSet)
  /// Inserts an object into an ordered relationship.
  @NSManaged public func insertIntoSteps(_ value: Note, at idx: Int)
  /// Removes an object from an ordered relationship by its index.
  @NSManaged public func removeFromSteps(at idx: Int)
  /// Replaces an object of an ordered relationship.
  @NSManaged public func replaceSteps(at idx: Int, with value: Note)
  /// A property in an extension.
  @NSManaged public var inExtension: Int32
}

#if os(Linux)
  extension Note {
    @NSManaged var onLinux: String?
    /// `onLinux`, for other modules.
    public var linuxText: String? {
      get { onLinux }
      set { onLinux = newValue }
    }
  }
#else
  extension Note {
    @NSManaged var elsewhere: NoSuchType
  }
#endif

/// Not public: other modules reach the objects through the relationships of notes only.
class Label: Item {
  @NSManaged var name: String
  @NSManaged var notes: Set<Note>
}

extension Note {
  /// The names of the note's labels, sorted.
  public var labelNames: [String] { tags.map(\.name).sorted() }
  /// Gives the note a new label in the context.
  public func label(_ name: String, in context: NSManagedObjectContext) {
    let label = Label(context: context)
    label.name = name
    tags.insert(label)
  }
}

/// A namespace, for a nested class.
public enum Drawer {
  /// A nested class.
  public final class Sheet: Item {
    /// A transformable value of a class of this module.
    @NSManaged public var color: Color?
    /// A to-one relationship to a top-level class.
    @NSManaged public var owner: Note?
  }
}

/// The class of a transformable attribute.
///
/// `@unchecked Sendable`: it never changes; `NSObject` keeps the compiler from seeing it.
public final class Color: NSObject, NSSecureCoding, @unchecked Sendable {
  /// True: archives hold a string only.
  public static let supportsSecureCoding = true
  /// The name, by which colours compare.
  public let name: String

  /// A colour of a name.
  public init(name: String) { self.name = name }
  /// Reads an archive; a missing name is "".
  public init?(coder: NSCoder) { name = coder.decodeObject(of: NSString.self, forKey: "name") as String? ?? "" }
  /// Archives the name.
  public func encode(with coder: NSCoder) { coder.encode(name as NSString, forKey: "name") }
  public override func isEqual(_ object: Any?) -> Bool { (object as? Color)?.name == name }
  public override var hash: Int { name.hashValue }
}
