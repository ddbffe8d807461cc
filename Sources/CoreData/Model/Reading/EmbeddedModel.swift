/// A data model in a program's own code, so that the program needs no file to know its entities.
///
/// `ModelCompilerPlugin` makes one for each model that a target's `ModelCompiler.json` lists: `Library.xcdatamodeld`
/// becomes `EmbeddedModel.library`, internal to the target's module. A program uses it as `NSPersistentContainer(name:
/// "Library", managedObjectModel: EmbeddedModel.library.makeModel())`.
///
/// Use it for command line tools and servers that are copied as one file: a resource bundle beside the executable is
/// easily left behind, and `NSPersistentContainer(name:)` then finds no model. Earlier versions of the model are not
/// embedded; a store keeps a copy of its own, so lightweight migration works without them.
///
/// Not part of Apple's API, where a model is a resource of a bundle.
public struct EmbeddedModel: Sendable {
  /// The model's name: that of its source without the ending.
  public let name: String
  private let text: String

  /// For generated code.
  ///
  /// Nothing is parsed yet, so a static constant of it costs nothing at launch.
  ///
  /// - Parameter text: the compiled form of one version of the model, which is XML.
  public init(name: String, text: String) {
    self.name = name
    self.text = text
  }

  /// A new model, which may be changed until a coordinator uses it. Traps if the text is not that of a model, which the
  /// build has checked.
  ///
  /// Each call makes new entities, in about the time that reading a compiled model from a file takes. Call it once, and
  /// pass the model to the container.
  public func makeModel() -> NSManagedObjectModel {
    let model = NSManagedObjectModel()
    do {
      try ModelReader(ModelDocument(compiled: text, name: name)).read(into: model)
    } catch {
      fatalError("The model \(name) in the program's code cannot be read: \(error)")
    }
    return model
  }

  /// Writes the model into a file that ends in `.mom`, the compiled form of one version.
  package func write(to url: URL) throws { try Data(text.utf8).write(to: url, options: .atomic) }
}
