/// The reason why a model cannot be read, with its file, entity and property.
public struct ManagedObjectModelError: LocalizedError, CustomStringConvertible {
  /// The file or folder.
  public let url: URL
  /// The line in the file, from 1; nil if it is unknown.
  public let line: Int?
  /// The name of the entity at fault; nil if the fault is not in an entity.
  public let entityName: String?
  /// The name of the property at fault; nil if the fault is not in a property.
  public let propertyName: String?
  /// The fault, as the rest of a sentence that begins with the file's or the entity's name.
  public let reason: String

  package init(_ url: URL, line: Int? = nil, entity: String? = nil, property: String? = nil, _ reason: String) {
    self.url = url
    self.line = line
    self.entityName = entity
    self.propertyName = property
    self.reason = reason
  }

  /// One sentence with the path, the entity, the property and the reason.
  public var description: String {
    switch (entityName, propertyName) {
    case let (entity?, property?): "\(url.path): \(entity).\(property) \(reason)"
    case let (entity?, nil): "\(url.path): the entity \(entity) \(reason)"
    default: "\(url.path) \(reason)"
    }
  }

  /// The same sentence, which `localizedDescription` gives.
  public var errorDescription: String? { description }

  /// The error in the form of a compiler's message, `PATH:LINE: error: …`, which build systems and editors recognise.
  package var diagnostic: String {
    let place = "\(url.path):\(line ?? 1): error: "
    return switch (entityName, propertyName) {
    case let (entity?, property?): "\(place)\(entity).\(property) \(reason)"
    case let (entity?, nil): "\(place)the entity \(entity) \(reason)"
    default: "\(place)the model \(reason)"
    }
  }
}
