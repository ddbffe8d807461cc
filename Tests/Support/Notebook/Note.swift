import CoreData

// Classes as they are written by hand for Core Data, kept as they would be on a Mac.

/// What is common to all; no entity has it.
open class Item: NSManagedObject {
  @NSManaged public var created: Date?
  @NSManaged private var primitiveCreated: Date?

  open override func awakeFromInsert() {
    super.awakeFromInsert()
    primitiveCreated = Date(timeIntervalSinceReferenceDate: 1)
  }

  public var createdPrimitively: Date? { primitiveCreated }
}

public class Note: Item {
  public typealias Notes = Set<Note>

  @NSManaged public var title: String
  @NSManaged public private(set) var views: Int64
  @NSManaged public var isPinned: Bool, rank: Int16
  @NSManaged public var subtitle: String!, body: String?
  @NSManaged public var number: NSNumber?
  @NSManaged public var price: NSDecimalNumber?
  @NSManaged public var identifier: UUID?, link: URL?
  @NSManaged public var attachment: Data?
  @NSManaged public var score: Double
  @NSManaged public var weight: Float
  @NSManaged public var words: [String]?
  @NSManaged public var shelf: [String: Any]?
  @NSManaged public var parent: Note?
  @NSManaged public var children: NSSet?
  @NSManaged var tags: Set<Label>
  @NSManaged public var steps: NSOrderedSet?
  @NSManaged public var stepOf: Notes
  /* @NSManaged var inAComment: Int */
  let text = "@NSManaged var inAString: \("a string \(1)") "

  public func view() { views += 1 }
}

extension Note {
  @NSManaged public func addToChildren(_ value: Note)
  @NSManaged public func removeFromChildren(_ values: NSSet)
  @NSManaged public func insertIntoSteps(_ value: Note, at idx: Int)
  @NSManaged public func removeFromSteps(at idx: Int)
  @NSManaged public func replaceSteps(at idx: Int, with value: Note)
  @NSManaged public var inExtension: Int32
}

#if os(Linux)
  extension Note {
    @NSManaged var onLinux: String?
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

/// Not public: other modules see the objects through their relationships only.
class Label: Item {
  @NSManaged var name: String
  @NSManaged var notes: Set<Note>
}

extension Note {
  public var labelNames: [String] { tags.map(\.name).sorted() }
  public func label(_ name: String, in context: NSManagedObjectContext) {
    let label = Label(context: context)
    label.name = name
    tags.insert(label)
  }
}

public enum Drawer {
  public final class Sheet: Item {
    @NSManaged public var color: Color?
    @NSManaged public var owner: Note?
  }
}

/// The class of a transformable attribute.
///
/// `@unchecked Sendable`: it never changes; `NSObject` keeps the compiler from seeing it.
public final class Color: NSObject, NSSecureCoding, @unchecked Sendable {
  public static let supportsSecureCoding = true
  public let name: String

  public init(name: String) { self.name = name }
  public init?(coder: NSCoder) { name = coder.decodeObject(of: NSString.self, forKey: "name") as String? ?? "" }
  public func encode(with coder: NSCoder) { coder.encode(name as NSString, forKey: "name") }
  public override func isEqual(_ object: Any?) -> Bool { (object as? Color)?.name == name }
  public override var hash: Int { name.hashValue }
}
