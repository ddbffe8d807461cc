/// The URI of a saved object, `x-coredata://STORE/ENTITY/pKEY`: the name by which other processes know it.
///
/// Only this type reads and writes that form. Each object has exactly one such text, so that two URIs are equal when
/// their texts are. A text holds no space and no control character: it is always one argument of a line.
public struct ObjectURI: Hashable, Sendable, LosslessStringConvertible {
  /// What every object URI starts with.
  public static let scheme = "x-coredata://"

  /// The identifier of the store.
  public let store: String
  /// The name of the object's own entity.
  public let entity: String
  /// The number of the object among those of its table; 1 or more.
  public let key: Int64

  /// - Precondition: the parts are those of a saved object.
  public init(store: String, entity: String, key: Int64) {
    self.store = store
    self.entity = entity
    self.key = key
  }

  /// Whether both are the URI of one object.
  public static func == (one: ObjectURI, other: ObjectURI) -> Bool {
    // Most objects that are compared differ in their keys.
    one.key == other.key && one.entity == other.entity && one.store == other.store
  }

  /// Hashes the parts in which objects of one store differ.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(key)
    hasher.combine(entity)
  }

  /// Reads a URI; `nil` for texts that name no saved object.
  public init?(_ text: String) {
    self.init(text[...])
  }

  /// Reads a URI; `nil` for texts that name no saved object.
  public init?(_ text: Substring) {
    self.init(text, after: nil)
  }

  /// Reads a URI; `nil` for texts that name no saved object.
  ///
  /// - Parameter other: a URI that most likely names the same store: the text of its identifier is shared then.
  package init?(_ text: Substring, after other: ObjectURI?) {
    var text = text
    guard let uri = text.withUTF8({ Self.read($0, other) }) else { return nil }
    self = uri
  }

  private static func read(_ bytes: UnsafeBufferPointer<UInt8>, _ other: ObjectURI?) -> ObjectURI? {
    guard bytes.starts(with: scheme.utf8) else { return nil }
    let store = word(bytes, from: scheme.utf8.count)
    let entity = word(bytes, from: store.upperBound + 1)
    guard !store.isEmpty, !entity.isEmpty, entity.upperBound < bytes.count,
      let key = Self.key(bytes[(entity.upperBound + 1)...])
    else { return nil }
    func text(_ range: Range<Int>, like otherText: String?) -> String {
      let part = UnsafeBufferPointer(rebasing: bytes[range])
      if let otherText, otherText.utf8.count == part.count, otherText.utf8.elementsEqual(part) { return otherText }
      return String(decoding: part, as: UTF8.self)
    }
    return ObjectURI(store: text(store, like: other?.store), entity: text(entity, like: other?.entity), key: key)
  }

  /// The part up to the next slash; empty without one, and for one with a space or a control character.
  private static func word(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Range<Int> {
    var end = start
    while end < bytes.count, bytes[end] > 0x20, bytes[end] != 0x7F {
      if bytes[end] == UInt8(ascii: "/") { return start..<end }
      end += 1
    }
    return start..<start
  }

  /// The text of the URI.
  public var description: String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(byteCount)
    append(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The number of bytes of the text.
  package var byteCount: Int {
    var digits = key < 0 ? 2 : 1
    var magnitude = key.magnitude
    while magnitude >= 10 {
      magnitude /= 10
      digits += 1
    }
    return Self.scheme.utf8.count + store.utf8.count + entity.utf8.count + 3 + digits
  }

  /// Adds the text as UTF-8.
  package func append(to bytes: inout [UInt8]) {
    bytes.append(contentsOf: Self.scheme.utf8)
    bytes.append(contentsOf: store.utf8)
    bytes.append(UInt8(ascii: "/"))
    bytes.append(contentsOf: entity.utf8)
    bytes.append(UInt8(ascii: "/"))
    bytes.append(UInt8(ascii: "p"))
    if key < 0 { bytes.append(UInt8(ascii: "-")) }
    // The last digit first.
    let start = bytes.count
    var magnitude = key.magnitude
    repeat {
      bytes.append(UInt8(ascii: "0") + UInt8(magnitude % 10))
      magnitude /= 10
    } while magnitude > 0
    bytes[start...].reverse()
  }

  /// The last part, by which people name an object where store and entity are clear: `p42`.
  public var name: String { "p\(key)" }

  /// The key in a ``name``; `nil` for other texts.
  public static func key(name: some StringProtocol) -> Int64? { key(Substring(name).utf8) }

  private static func key(_ name: some Collection<UInt8>) -> Int64? {
    let digits = name.dropFirst()
    guard name.first == UInt8(ascii: "p"), let first = digits.first, first != UInt8(ascii: "0") else { return nil }
    var key: Int64 = 0
    for byte in digits {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
      let (tens, isTooLarge) = key.multipliedReportingOverflow(by: 10)
      let (sum, isStillTooLarge) = tens.addingReportingOverflow(Int64(byte - UInt8(ascii: "0")))
      if isTooLarge || isStillTooLarge { return nil }
      key = sum
    }
    return key
  }
}

/// The URI that an object has before its first save, `x-coredata:///ENTITY/tNAME`: it names no store, and means nothing
/// to other processes.
public struct TemporaryObjectURI: Hashable, Sendable, LosslessStringConvertible {
  private static let start = ObjectURI.scheme + "/"

  /// The name of the object's entity.
  public let entity: String
  /// What tells the object from all others, in every process.
  public let name: String

  /// - Parameters:
  ///   - entity: the name of the object's entity.
  ///   - name: what tells the object from all others.
  public init(entity: String, name: String) {
    self.entity = entity
    self.name = name
  }

  /// Reads a URI; `nil` for texts of another form.
  public init?(_ text: String) {
    guard text.hasPrefix(Self.start) else { return nil }
    let parts = text.dropFirst(Self.start.count).split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, parts[1].first == "t", parts[1].count > 1 else { return nil }
    self.init(entity: String(parts[0]), name: String(parts[1].dropFirst()))
  }

  /// The text of the URI.
  public var description: String { "\(Self.start)\(entity)/t\(name)" }
}
