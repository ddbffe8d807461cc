/// The URI of an object whose store knows it by a reference of its own, `x-coredata://STORE/ENTITY/pREFERENCE`.
///
/// What a reference's text means only its store knows. Where it is a number, the URI may be an ``ObjectURI`` of another
/// store's object: the store tells the two apart.
public struct ObjectReferenceURI: Hashable, Sendable, LosslessStringConvertible {
  /// The identifier of the store.
  public let store: String
  /// The name of the object's own entity.
  public let entity: String
  /// The last part, which begins with a "p".
  public let name: String

  /// - Precondition: the parts hold no slash and no space.
  public init(store: String, entity: String, name: String) {
    self.store = store
    self.entity = entity
    self.name = name
  }

  /// Reads a URI; `nil` for texts of another form.
  public init?(_ text: String) {
    guard text.hasPrefix(ObjectURI.scheme) else { return nil }
    let parts = text.dropFirst(ObjectURI.scheme.count).split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 3, !parts[0].isEmpty, !parts[1].isEmpty, parts[2].first == "p", parts[2].count > 1,
      parts.allSatisfy({ $0.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F } })
    else { return nil }
    self.init(store: String(parts[0]), entity: String(parts[1]), name: String(parts[2]))
  }

  /// The URI's text.
  public var description: String { "\(ObjectURI.scheme)\(store)/\(entity)/\(name)" }
}
