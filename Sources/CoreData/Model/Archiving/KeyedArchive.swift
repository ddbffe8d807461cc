/// The objects of a keyed archive, the form of Apple's compiled models and mapping models.
///
/// Foundation's unarchiver cannot read these: it builds an object before the objects that refer to it, and models refer
/// to themselves.
struct KeyedArchive {
  fileprivate let objects: [PropertyListValue]
  fileprivate let rootPlace: Int
  /// How much of a damaged or hostile archive is followed.
  let limits = ArchiveLimits()

  init(_ data: Data) throws(ModelElementsError) {
    guard case .dictionary(let archive) = try BinaryPropertyList(data).root(),
      case .string("NSKeyedArchiver") = archive["$archiver"], case .array(let objects) = archive["$objects"],
      case .dictionary(let top) = archive["$top"], case .reference(let place) = top["root"]
    else { throw ModelElementsError("is not a keyed archive") }
    self.objects = objects
    rootPlace = place
  }

  /// The archived object.
  var root: ArchivedObject? { object(.reference(rootPlace)) }

  fileprivate func resolved(_ value: PropertyListValue?) -> PropertyListValue? {
    guard case .reference(let place) = value else { return value }
    // The first object stands for nil.
    return place > 0 && place < objects.count ? objects[place] : nil
  }

  fileprivate func object(_ value: PropertyListValue?) -> ArchivedObject? {
    guard case .reference(let place) = value, case .dictionary(let fields) = resolved(value),
      case .dictionary(let kind) = resolved(fields["$class"]), case .string(let name) = kind["$classname"]
    else { return nil }
    return ArchivedObject(archive: self, place: place, className: name, fields: fields)
  }
}

/// What reading an archive may cost.
///
/// Objects of an archive may refer to themselves, or each twice to the next, so that following the references takes for
/// ever. Archives of real models stay far below both limits.
///
/// Not `Sendable`: used by the thread that reads the archive.
final class ArchiveLimits {
  private static let deepest = 256
  private static let most = 1_000_000

  private var depth = 0
  private var visits = 0
  /// Whether something was left out because a limit was reached. The archive counts as damaged then.
  private(set) var areExceeded = false

  /// Counts a value; false if there were too many.
  func count() -> Bool {
    visits += 1
    if visits > Self.most { areExceeded = true }
    return !areExceeded
  }

  /// Runs the body one level deeper; nil if that is too deep, or if there were too many values.
  func deeper<T, Failure: Error>(_ body: () throws(Failure) -> T?) throws(Failure) -> T? {
    guard depth < Self.deepest, count() else {
      areExceeded = true
      return nil
    }
    depth += 1
    defer { depth -= 1 }
    return try body()
  }
}

/// An object of a keyed archive: a class name and values by key.
struct ArchivedObject {
  fileprivate let archive: KeyedArchive
  /// Its place among the archive's objects: equal for the same object.
  let place: Int
  let className: String
  fileprivate let fields: [String: PropertyListValue]

  var limits: ArchiveLimits { archive.limits }

  // MARK: Values by key

  var keys: [String] { fields.keys.sorted() }

  func string(_ key: String) -> String? { Self.string(archive.resolved(fields[key]), archive) }

  func integer(_ key: String) -> Int? {
    switch archive.resolved(fields[key]) {
    case .integer(let value): Int(truncatingIfNeeded: value)
    case .real(let value): Int(exactly: value)
    case .bool(let value): value ? 1 : 0
    default: nil
    }
  }

  func bool(_ key: String) -> Bool { integer(key) ?? 0 != 0 }

  func data(_ key: String) -> Data? { value(key) as? Data }

  func object(_ key: String) -> ArchivedObject? { archive.object(fields[key]) }

  /// The objects of an array or a set.
  func objects(_ key: String) -> [ArchivedObject] { object(key)?.members.compactMap(archive.object) ?? [] }

  /// The strings of an array or a set.
  func strings(_ key: String) -> [String] { object(key)?.strings ?? [] }

  /// The strings of an array or a set that this object is.
  var strings: [String] { members.compactMap { Self.string(archive.resolved($0), archive) } }

  /// The objects that this array or set holds.
  var objects: [ArchivedObject] { members.compactMap(archive.object) }

  /// The objects of a dictionary, with their keys and in its order.
  func entries(_ key: String) -> [(key: String, object: ArchivedObject)] { object(key)?.entries ?? [] }

  /// The objects of the dictionary that this object is, with their keys and in its order.
  var entries: [(key: String, object: ArchivedObject)] {
    storedEntries.compactMap { entry in archive.object(entry.value).map { (entry.key, $0) } }
  }

  /// A value of a kind that Foundation has: a string, a number, a date, a collection of these. Nil for others.
  func value(_ key: String) -> Any? { Self.value(fields[key], archive, depth: 0) }

  /// The values of an array or a set.
  func values(_ key: String) -> [Any] {
    object(key)?.members.compactMap { Self.value($0, archive, depth: 0) } ?? []
  }

  // MARK: Collections

  private var members: [PropertyListValue] {
    guard case .array(let members) = archive.resolved(fields["NS.objects"]) else { return [] }
    return members
  }

  private var storedEntries: [(key: String, value: PropertyListValue)] {
    var keys = [PropertyListValue]()
    var values = members
    if case .array(let list) = archive.resolved(fields["NS.keys"]) { keys = list }
    if className.hasPrefix("NSKnownKeysDictionary") {
      keys = object("searchMapping")?.object("keys")?.members ?? []
      values = object("values")?.members ?? []
    }
    return zip(keys, values).compactMap { key, value in
      Self.string(archive.resolved(key), archive).map { ($0, value) }
    }
  }

  private static func string(_ value: PropertyListValue?, _ archive: KeyedArchive) -> String? {
    switch value {
    case .string(let text): text
    case .dictionary(let fields):
      if case .string(let text) = archive.resolved(fields["NS.string"]) { text } else { nil }
    default: nil
    }
  }

  // MARK: Foundation's values

  /// Real values nest a few levels deep.
  private static let maximumDepth = 32

  private static func value(_ stored: PropertyListValue?, _ archive: KeyedArchive, depth: Int) -> Any? {
    guard depth < maximumDepth, archive.limits.count() else { return nil }
    switch archive.resolved(stored) {
    case .string(let text): return text
    case .integer(let value): return NSNumber(value: value)
    case .bool(let value): return NSNumber(value: value)
    case .real(let value): return NSNumber(value: value)
    case .data(let data): return data
    case .dictionary: return archive.object(stored).flatMap { $0.foundationValue(depth: depth) }
    default: return nil
    }
  }

  private func foundationValue(depth: Int) -> Any? {
    func all() -> [Any] { members.compactMap { Self.value($0, archive, depth: depth + 1) } }
    switch className {
    case "NSString", "NSMutableString": return string("NS.string")
    case "NSData", "NSMutableData": return Self.value(fields["NS.data"], archive, depth: depth + 1)
    case "NSDate":
      guard case .real(let seconds) = fields["NS.time"] else { return nil }
      return Date(timeIntervalSinceReferenceDate: seconds)
    case "NSArray", "NSMutableArray": return all()
    case "NSSet", "NSMutableSet": return NSSet(array: all())
    case "NSOrderedSet", "NSMutableOrderedSet": return NSOrderedSet(array: all())
    case "NSNull": return NSNull()
    case "NSUUID":
      guard case .data(let bytes) = archive.resolved(fields["NS.uuidbytes"]), bytes.count == 16 else { return nil }
      return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    case "NSURL": return string("NS.relative").flatMap { URL(string: $0, relativeTo: value("NS.base") as? URL) }
    case _ where className.hasPrefix("NSDecimalNumber"): return decimal
    case _ where className.hasSuffix("Dictionary") || className.hasPrefix("NSKnownKeysDictionary"):
      return Dictionary(
        storedEntries.compactMap { entry in
          Self.value(entry.value, archive, depth: depth + 1).map { (AnyHashable(entry.key), $0) }
        }, uniquingKeysWith: { $1 })
    default: return nil
    }
  }

  /// A decimal number: a mantissa in words of 16 bits, an exponent and a sign.
  private var decimal: NSDecimalNumber? {
    guard case .data(let data) = archive.resolved(fields["NS.mantissa"]) else { return nil }
    let mantissa = Array(data)
    let length = integer("NS.length") ?? 0
    guard length >= 0 else { return nil }
    guard length > 0 || !bool("NS.negative") else { return .notANumber }
    let isBigEndian = integer("NS.mantissa.bo") == 2
    var number = Decimal(0)
    let words = stride(from: 0, to: mantissa.count - 1, by: 2).map { place -> Int in
      let (first, second) = (Int(mantissa[place]), Int(mantissa[place + 1]))
      return isBigEndian ? first << 8 | second : second << 8 | first
    }
    for word in words.prefix(length).reversed() {
      number = number * Decimal(65536) + Decimal(word)
    }
    var scaled = Decimal()
    guard
      NSDecimalMultiplyByPowerOf10(&scaled, &number, Int16(clamping: integer("NS.exponent") ?? 0), .plain) == .noError
    else { return nil }
    return NSDecimalNumber(decimal: bool("NS.negative") ? -scaled : scaled)
  }
}
