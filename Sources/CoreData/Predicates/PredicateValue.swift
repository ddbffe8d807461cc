/// A value in the form that predicates compare: the content of an `Any?`, reduced to a few kinds.
///
/// Values come as Swift's types, as Foundation's classes, in optionals and in `AnyHashable`; comparing them pair by
/// pair would need a case for each pair. Here each value is read once, and comparisons, orders, hashes and sums are
/// defined on the kinds alone. SQL generation binds the same kinds.
///
/// ```text
/// Int, Int16, Bool, NSNumber of an integer    integer        Double, Float          real
/// Decimal, NSDecimalNumber                    decimal        String, NSString       string
/// Date, NSDate                                date           UUID, NSUUID           uuid
/// URL, NSURL                                  url            Data, NSData           data
/// Array, Set, NSSet, any Sequence             collection     NSDictionary           collection of its values
/// NSManagedObject, NSManagedObjectID          object (its ID)
/// other objects and Hashable values           object         other values           opaque
/// ```
///
/// Numbers of all types compare by value, strings by their bytes, as SQLite does. Values of different kinds are unequal
/// and have no order. A constant is converted to the type of a column before this comparison: see
/// `Comparison.Affinity`.
enum PredicateValue {
  /// No value: nil, and `NSNull`. Two of them are equal.
  case null
  /// A whole number or a Bool. Unsigned numbers beyond `Int64` become `real`.
  case integer(Int64)
  /// A number that was made from a floating-point value, even if it is whole.
  case real(Double)
  /// Exact, as long as it meets no double.
  case decimal(Decimal)
  /// Compared by the bytes of its UTF-8, without normalisation.
  case string(String)
  /// Seconds since 2001-01-01 00:00 UTC.
  case date(Double)
  /// Ordered like blobs in SQLite, by bytes.
  case data(Data)
  /// Ordered by its 16 bytes, as SQLite orders the blob that a store keeps.
  case uuid(UUID)
  /// The absolute text. A URL never equals the text, since their columns are of different types.
  case url(String)
  /// The members are read only when one is compared, as most collections are searched for one value.
  case collection([Any?])
  /// A managed object is represented by its object ID, so that both are equal.
  case object(NSObject)
  /// A value that equals nothing.
  case opaque

  /// Reads any value. It never fails: what has no kind of its own is `opaque`.
  init(_ value: Any?) {
    guard let value else {
      self = .null
      return
    }
    self = PredicateValue.read(value)
  }

  /// The kind of a value. The order of the tests is that of frequency; each is cheaper than those behind it.
  private static func read(_ value: Any) -> PredicateValue {
    // Compare the type pointers of common types first: a dynamic cast tries every bridge.
    let type = type(of: value)
    if type == String.self, let string = value as? String { return .string(string) }
    if type == Int.self, let number = value as? Int { return .integer(Int64(number)) }
    if type == Double.self, let number = value as? Double { return .real(number) }
    if type == Bool.self, let flag = value as? Bool { return .integer(flag ? 1 : 0) }
    if type == Date.self, let date = value as? Date { return .date(date.timeIntervalSinceReferenceDate) }
    // `as AnyObject` goes through the bridge, which takes several times as long.
    if type is AnyClass, let object = value as? NSObject { return readObject(object) }
    return readOther(value)
  }

  /// The kind of an object of a class. A managed object is replaced by its ID, which does not fire a fault. Objects
  /// that stand for others, such as the rows of a store in memory, give their `identity`.
  private static func readObject(_ value: NSObject) -> PredicateValue {
    switch value {
    case let value as NSManagedObject: .object(value.objectID)
    case let value as NSNumber: readNumber(value)
    case let value as NSString: .string(String(describing: value))
    case let value as NSManagedObjectID: .object(value)
    case let value as NSSet: .collection(value.allObjects)
    case let value as NSOrderedSet: .collection(value.array)
    case let value as NSArray: .collection(value.map { $0 })
    case let value as NSDictionary: .collection(value.allValues)
    case let value as NSDate: .date(value.timeIntervalSinceReferenceDate)
    case let value as NSData: .data(Data(referencing: value))
    case let value as NSUUID: (UUID(uuidString: value.uuidString)).map { .uuid($0) } ?? .object(value)
    case let value as NSURL: .url(value.absoluteString)
    case is NSNull: .null
    default: .object((value as? any IdentifiedObject)?.identity ?? value)
    }
  }

  /// `objCType` tells whether a number was created from a floating-point value.
  ///
  /// An `NSNumber` of 3.0 stays a double, so that `3 / 2` and `3.0 / 2` differ as the program meant them.
  ///
  /// Source: https://developer.apple.com/documentation/foundation/nsnumber, "objCType".
  private static func readNumber(_ number: NSNumber) -> PredicateValue {
    if let decimal = number as? NSDecimalNumber { return .decimal(decimal.decimalValue) }
    switch UInt8(bitPattern: number.objCType.pointee) {
    case UInt8(ascii: "d"), UInt8(ascii: "f"): return .real(number.doubleValue)
    case UInt8(ascii: "Q"):
      let unsigned = number.uint64Value
      return Int64(exactly: unsigned).map { .integer($0) } ?? .real(Double(unsigned))
    default: return .integer(number.int64Value)
    }
  }

  /// The kind of a value that is neither common nor an object: these casts take the longest. `[Any]` goes before
  /// `any Sequence`, and texts before sequences, since a `Substring` is both.
  private static func readOther(_ value: Any) -> PredicateValue {
    switch value {
    case let value as MemberValues: return .collection(value.values)
    case let value as Decimal: return .decimal(value)
    case let value as UUID: return .uuid(value)
    case let value as URL: return .url(value.absoluteString)
    case let value as Data: return .data(value)
    case let value as Float: return .real(Double(value))
    case let value as any FixedWidthInteger:
      return Int64(exactly: value).map { .integer($0) } ?? .real(Double(value))
    case let value as any StringProtocol: return .string(String(value))
    case let value as [Any]: return .collection(value)
    case let value as any OptionalValue: return value.wrapped.map(read) ?? .null
    case let value as Set<AnyHashable>: return .collection(value.map { $0.base })
    case let value as [AnyHashable: Any]: return .collection(Array(value.values))
    case let value as AnyHashable: return read(hashable: value)
    case let value as any Sequence: return .collection(collect(value))
    default: return .opaque
    }
  }

  /// A Swift value that is only `Hashable`, such as an enumeration of the program: it can be equal to another one, and
  /// has no order.
  private static func read(hashable: AnyHashable) -> PredicateValue {
    let base = hashable.base
    if base is any Sequence, let sequence = base as? any Sequence { return .collection(collect(sequence)) }
    return (base as? NSObject).map(readObject) ?? .object(HashableBox(hashable))
  }

  /// The members of a sequence of any type. One that can be walked only once is used up.
  private static func collect(_ sequence: any Sequence) -> [Any?] {
    var members: [Any?] = []
    for member in sequence { members.append(member) }
    return members
  }

  var isNull: Bool {
    if case .null = self { true } else { false }
  }

  /// The number as a double; nil for other kinds.
  var double: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .real(let value): value
    case .decimal(let value): NSDecimalNumber(decimal: value).doubleValue
    default: nil
    }
  }
}

/// Opens an optional inside `Any`.
///
/// `as? T` of an `Any` that holds `Optional<T>` fails in some contexts and succeeds in others; asking the optional
/// itself always works, at any depth.
protocol OptionalValue {
  static var wrappedType: Any.Type { get }
  var wrapped: Any? { get }
}

extension Optional: OptionalValue {
  static var wrappedType: Any.Type { Wrapped.self }
  var wrapped: Any? { self }
}

/// Boxes a Swift value that can only be compared for equality.
private final class HashableBox: NSObject {
  let value: AnyHashable

  init(_ value: AnyHashable) {
    self.value = value
    super.init()
  }

  override func isEqual(_ object: Any?) -> Bool { (object as? HashableBox)?.value == value }

  override var hash: Int { value.hashValue }
}
