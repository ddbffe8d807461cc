/// A value that a store cannot hold: whose it is, why, and what to do. It never has the value itself.
///
/// The sentence of one, as a save reports it (134030): "Saving to /data/Library.sqlite: the value of mood of Book/p7
/// cannot be archived: use a value transformer, or objects of classes that conform to NSSecureCoding".
///
/// It goes up through the layers and collects on the way: the code that binds knows why, the writer which attribute,
/// the save which row.
package struct RefusedValue: Error {
  /// The name of the object's entity, or of the attribute's; nil for a value that belongs to none.
  package var entity: String?
  /// The name of the attribute, as a path for an element of a composite one; nil where the row as a whole is refused.
  package var attribute: String?
  /// The key of the object's row; nil where many rows get the value.
  package var key: Int64?
  /// Why, as the rest of a sentence that begins with the value.
  package let reason: String
  /// What to do about it.
  package let remedy: String

  package init(
    entity: String? = nil, attribute: String? = nil, key: Int64? = nil, _ reason: String, remedy: String
  ) {
    self.entity = entity
    self.attribute = attribute
    self.key = key
    self.reason = reason
    self.remedy = remedy
  }

  /// The same for a row whose entity and key are known.
  package func of(_ entity: String, _ key: Int64) -> RefusedValue {
    var named = self
    (named.entity, named.key) = (entity, key)
    return named
  }

  /// The same for an attribute; an entity that is known already stays.
  package func of(_ attribute: NSAttributeDescription) -> RefusedValue {
    var named = self
    named.entity = entity ?? attribute.owner?.name
    named.attribute = attribute.name
    return named
  }

  /// What a person reads, without a full stop.
  package var sentence: String { "\(subject) \(reason): \(remedy)" }

  private var subject: String {
    let owner = entity.map { entity in key.map { "\(entity)/p\($0)" } ?? entity }
    switch (attribute, owner) {
    case (let attribute?, let owner?): return "the value of \(attribute) of \(owner)"
    case (let attribute?, nil): return "the value of \(attribute)"
    case (nil, let owner?): return "the row of \(owner)"
    case (nil, nil): return "a value"
    }
  }
}

extension CoreDataErrors {
  /// 134030 (`persistentStoreSave`) for a value that a store cannot hold.
  package static func error(_ value: RefusedValue, _ doing: String) -> NSError {
    error(
      .persistentStoreSave, "\(doing): \(value.sentence)",
      value.attribute.map { [NSValidationKeyErrorKey: $0] } ?? [:])
  }
}
