/// The objects of a keyed archive, the form of Apple's compiled models and mapping models.
///
/// Foundation's unarchiver cannot read these: it builds an object before the objects that refer to it, and models refer
/// to themselves. It would also need Apple's private classes, by name. So this reads the property list and lets the
/// caller walk the objects as they are stored.
///
/// ```text
/// { "$archiver": "NSKeyedArchiver", "$version": 100000, "$top": { "root": UID 1 },
///   "$objects": [
///     0  "$null"                                                      stands for nil
///     1  { "$class": UID 2, "NSEntities": UID 3, … }                  an object: values by key
///     2  { "$classname": "NSManagedObjectModel", "$classes": [ "NSManagedObjectModel", "NSObject" ] }
///     3  { "$class": UID 4, "NS.keys": [ UID 5 ], "NS.objects": [ UID 6 ] }      a dictionary
///     4  { "$classname": "NSDictionary", … }
///     5  "Book"                                                       a text is an object too
///     6  { "$class": UID 7, "NSEntityName": UID 5, "NSManagedObjectModel": UID 1, … } ] }
/// ```
///
/// A UID is the index of another object in the list; scalars such as numbers and Booleans may stand in place of one.
/// Readers of models, of mapping models, of Xcode's mapping documents and of sort descriptors use it;
/// `KeyedArchiveWriter` makes the same form.
///
/// Source: Apple's Archives and Serializations Programming Guide describes the idea; the keys are read off archives
/// that Apple's tools wrote.
struct KeyedArchive {
  fileprivate let objects: [PropertyListValue]
  fileprivate let rootPlace: Int
  /// How much of a damaged or hostile archive is followed.
  let limits = ArchiveLimits()

  /// Reads the whole list, but looks into no object: what is wrong with one is found when it is asked for.
  ///
  /// - Throws: an error whose reason completes the file's name to a sentence, if the data is no binary property list or
  ///   no keyed archive.
  init(_ data: Data) throws(ModelElementsError) {
    guard case .dictionary(let archive) = try BinaryPropertyList(data).root(),
      case .string("NSKeyedArchiver") = archive["$archiver"], case .array(let objects) = archive["$objects"],
      case .dictionary(let top) = archive["$top"], case .reference(let place) = top["root"]
    else { throw ModelElementsError("is not a keyed archive") }
    self.objects = objects
    rootPlace = place
  }

  /// The archived object.
  ///
  /// Nil if the archive's root is no object of a class, such as a text.
  var root: ArchivedObject? { object(.reference(rootPlace)) }

  /// The value that a reference leads to; another value is itself. A reference out of the list is nil, like one to the
  /// first object, so that a damaged archive reads as one with values missing.
  fileprivate func resolved(_ value: PropertyListValue?) -> PropertyListValue? {
    guard case .reference(let place) = value else { return value }
    // The first object stands for nil.
    return place > 0 && place < objects.count ? objects[place] : nil
  }

  /// The object that a reference leads to; nil for a value without a class.
  fileprivate func object(_ value: PropertyListValue?) -> ArchivedObject? {
    guard case .reference(let place) = value, case .dictionary(let fields) = resolved(value),
      case .dictionary(let kind) = resolved(fields["$class"]), case .string(let name) = kind["$classname"]
    else { return nil }
    return ArchivedObject(archive: self, place: place, className: name, fields: fields)
  }
}

/// What reading an archive may cost.
///
/// Objects of an archive may refer to themselves, or each twice to the next, so that following the references would not
/// end. Archives of real models stay far below both limits.
///
/// Not `Sendable`: used by the thread that reads the archive.
///
/// It is one object for all parts of an archive, since the limits are for the whole. Readers may ignore that a value
/// was left out; the caller that began the reading checks `areExceeded` at the end and refuses the archive.
final class ArchiveLimits {
  /// Levels of objects inside of objects, as in predicates and composite attributes. It keeps the reader from
  /// overflowing the stack.
  private static let deepest = 256
  /// Values in all. It bounds the time for an archive in which each object refers twice to the next one: 2^n visits of
  /// n objects.
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
///
/// It is a view of the archive, cheap to make; two views are of the same object if `place` is equal. Each accessor
/// gives nil, false or nothing for a key that is missing or has a value of another kind.
struct ArchivedObject {
  fileprivate let archive: KeyedArchive
  /// Its place among the archive's objects: equal for the same object.
  let place: Int
  let className: String
  fileprivate let fields: [String: PropertyListValue]

  var limits: ArchiveLimits { archive.limits }

  // MARK: Values by key

  var keys: [String] { fields.keys.sorted() }

  /// A text that is stored as one or as an `NSString` object.
  func string(_ key: String) -> String? { Self.string(archive.resolved(fields[key]), archive) }

  /// A whole number. Booleans count as 0 and 1, as Apple's decoders read them.
  func integer(_ key: String) -> Int? {
    switch archive.resolved(fields[key]) {
    case .integer(let value): Int(truncatingIfNeeded: value)
    case .real(let value): Int(exactly: value)
    case .bool(let value): value ? 1 : 0
    default: nil
    }
  }

  /// A flag. Apple's archives leave false out.
  func bool(_ key: String) -> Bool { integer(key) ?? 0 != 0 }

  /// Bytes, such as a version hash.
  func data(_ key: String) -> Data? { value(key) as? Data }

  /// Another object of the archive.
  func object(_ key: String) -> ArchivedObject? { archive.object(fields[key]) }

  /// The objects of an array or a set.
  func objects(_ key: String) -> [ArchivedObject] { object(key)?.members.compactMap(archive.object) ?? [] }

  /// What is read of each member of an array or a set; nil if one of them cannot be read.
  func all<Part>(_ key: String, _ read: (ArchivedObject) -> Part?) -> [Part]? {
    var parts: [Part] = []
    for member in object(key)?.members ?? [] {
      guard let part = archive.object(member).flatMap(read) else { return nil }
      parts.append(part)
    }
    return parts
  }

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

  /// The references of an array or a set, in the order of the archive.
  private var members: [PropertyListValue] {
    guard case .array(let members) = archive.resolved(fields["NS.objects"]) else { return [] }
    return members
  }

  /// The keys and values of a dictionary, unresolved. Apple's `NSKnownKeysDictionary` keeps its keys in a table that
  /// several dictionaries can share, `searchMapping`, and only the values by themselves.
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

  /// A value object of Foundation, by the keys under which Foundation's classes archive themselves; nil for other
  /// classes.
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
  ///
  /// ```text
  /// NS.mantissa      16 bytes: eight words of 16 bits, the lowest first
  /// NS.mantissa.bo   byte order of a word: 1 little, 2 big endian
  /// NS.length        how many words are used; 0 with NS.negative means NaN
  /// NS.exponent      the power of ten; NS.negative the sign; NS.compact no meaning here
  /// ```
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
