import CoreData

/// An app's model: the entity Note with a text.
enum NoteModel {
  static func make() -> NSManagedObjectModel {
    let text = NSAttributeDescription()
    text.name = "text"
    text.attributeType = .stringAttributeType
    let note = NSEntityDescription()
    note.name = "Note"
    note.properties = [text]
    let model = NSManagedObjectModel()
    model.entities = [note]
    return model
  }
}
