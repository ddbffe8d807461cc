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

  /// Reads a URI; `nil` for texts that name no saved object.
  public init?(_ text: String) {
    self.init(text[...])
  }

  /// Reads a URI; `nil` for texts that name no saved object.
  public init?(_ text: Substring) {
    let bytes = text.utf8
    guard bytes.starts(with: Self.scheme.utf8) else { return nil }
    let parts = bytes.dropFirst(Self.scheme.utf8.count).split(
      separator: UInt8(ascii: "/"), maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count == 3, let store = Self.word(parts[0]), let entity = Self.word(parts[1]),
      let key = Self.key(parts[2])
    else { return nil }
    self.init(store: store, entity: entity, key: key)
  }

  /// The text of the URI.
  public var description: String {
    var text = Self.scheme
    text.reserveCapacity(text.utf8.count + store.utf8.count + entity.utf8.count + 22)
    text += store
    text += "/"
    text += entity
    text += "/"
    text += name
    return text
  }

  /// The last part, by which people name an object where store and entity are clear: `p42`.
  public var name: String { "p\(key)" }

  /// The key in a ``name``; `nil` for other texts.
  public static func key(name: some StringProtocol) -> Int64? { key(Substring(name).utf8) }

  private static func word(_ bytes: Substring.UTF8View) -> String? {
    guard !bytes.isEmpty, bytes.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else { return nil }
    return String(Substring(bytes))
  }

  private static func key(_ name: Substring.UTF8View) -> Int64? {
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
  /// What tells the object from all others, in whatever process.
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
