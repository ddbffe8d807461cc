/// Why a model could not be read: in which file, and at which entity and property.
public struct ManagedObjectModelError: LocalizedError, CustomStringConvertible {
  /// The file or folder.
  public let url: URL
  /// The line in the file, from 1, where it is known.
  public let line: Int?
  /// The entity concerned.
  public let entityName: String?
  /// The property concerned.
  public let propertyName: String?
  /// What is wrong, continuing a sentence that begins with the file's name.
  public let reason: String

  package init(_ url: URL, line: Int? = nil, entity: String? = nil, property: String? = nil, _ reason: String) {
    self.url = url
    self.line = line
    self.entityName = entity
    self.propertyName = property
    self.reason = reason
  }

  public var description: String {
    switch (entityName, propertyName) {
    case let (entity?, property?): "\(url.path): \(entity).\(property) \(reason)"
    case let (entity?, nil): "\(url.path): the entity \(entity) \(reason)"
    default: "\(url.path) \(reason)"
    }
  }

  public var errorDescription: String? { description }

  /// The form of a compiler's message, which build systems and editors recognise.
  package var diagnostic: String {
    let place = "\(url.path):\(line ?? 1): error: "
    return switch (entityName, propertyName) {
    case let (entity?, property?): "\(place)\(entity).\(property) \(reason)"
    case let (entity?, nil): "\(place)the entity \(entity) \(reason)"
    default: "\(place)the model \(reason)"
    }
  }
}
