public import CoreData

/// The model of the classes in this module, built in code.
public enum NotebookModel {
  /// A new model of notes, labels and sheets, which may be changed.
  public static func make() -> NSManagedObjectModel {
    func attribute(_ name: String, _ type: NSAttributeType) -> NSAttributeDescription {
      let attribute = NSAttributeDescription()
      attribute.name = name
      attribute.attributeType = type
      return attribute
    }
    func entity(_ name: String, _ className: String, _ attributes: [(String, NSAttributeType)]) -> NSEntityDescription {
      let entity = NSEntityDescription()
      entity.name = name
      entity.managedObjectClassName = className
      entity.properties = ([("created", .dateAttributeType)] + attributes).map(attribute)
      return entity
    }
    func relate(
      _ first: NSEntityDescription, _ name: String, _ isToMany: Bool, _ second: NSEntityDescription,
      _ inverseName: String,
      _ isInverseToMany: Bool, ordered: Bool = false
    ) {
      let relationship = NSRelationshipDescription()
      let inverse = NSRelationshipDescription()
      relationship.name = name
      relationship.destinationEntity = second
      relationship.maxCount = isToMany ? 0 : 1
      relationship.isOrdered = ordered
      inverse.name = inverseName
      inverse.destinationEntity = first
      inverse.maxCount = isInverseToMany ? 0 : 1
      relationship.inverseRelationship = inverse
      inverse.inverseRelationship = relationship
      first.properties += [relationship]
      second.properties += [inverse]
    }
    let note = entity(
      "Note", "Notebook.Note",
      [
        ("title", .stringAttributeType), ("views", .integer64AttributeType), ("isPinned", .booleanAttributeType),
        ("rank", .integer16AttributeType), ("subtitle", .stringAttributeType), ("body", .stringAttributeType),
        ("number", .integer64AttributeType), ("price", .decimalAttributeType), ("identifier", .UUIDAttributeType),
        ("link", .URIAttributeType), ("attachment", .binaryDataAttributeType), ("score", .doubleAttributeType),
        ("weight", .floatAttributeType), ("words", .transformableAttributeType),
        ("inExtension", .integer32AttributeType),
        ("onLinux", .stringAttributeType), ("elsewhere", .stringAttributeType),
      ])
    let shelf = NSCompositeAttributeDescription()
    shelf.name = "shelf"
    shelf.elements = [attribute("room", .stringAttributeType), attribute("board", .integer16AttributeType)]
    note.properties += [shelf]
    let label = entity("Label", "Label", [("name", .stringAttributeType)])
    let sheet = entity("Sheet", "Drawer.Sheet", [("color", .transformableAttributeType)])
    relate(note, "children", true, note, "parent", false)
    relate(note, "tags", true, label, "notes", true)
    relate(note, "steps", true, note, "stepOf", true, ordered: true)
    relate(note, "steppedOver", true, note, "steppedOverBy", true)
    relate(sheet, "owner", false, note, "sheets", true)
    let model = NSManagedObjectModel()
    model.entities = [note, label, sheet]
    return model
  }
}
