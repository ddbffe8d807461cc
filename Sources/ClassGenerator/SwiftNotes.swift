import ModelFiles

/// A model's notes about the code that is generated from it: entries of an entity's or a property's user info whose
/// keys begin with `swift.`. Xcode's editor shows and keeps them; Core Data itself does not use them.
struct SwiftNotes {
  /// `swift.name`: the name of the property in Swift, if it differs from the model's.
  let name: String?
  /// `swift.type`: the type of the property, if it differs from that of Xcode's rules.
  let type: String?
  /// `swift.default`: an expression of this type, read if the attribute is nil or has a raw value without a case.
  let fallback: String?
  /// `swift.access`: the access to read and to write the property. Default: `public`.
  let access: String?
  /// `swift.documentation`: the docstring.
  let documentation: String?

  private static let accessLevels = [
    "public", "public package(set)", "public internal(set)", "package", "package internal(set)", "internal",
  ]

  /// The notes of an entity.
  init(_ entity: ModelEntity, in document: ModelDocument) throws(ManagedObjectModelError) {
    let notes = try Notes(entity.node, allowing: ["documentation"], entity: entity.name, property: nil, in: document)
    (name, type, fallback, access) = (nil, nil, nil, nil)
    documentation = notes["documentation"]
  }

  /// The notes of a property.
  init(
    _ property: ModelProperty, of entity: ModelEntity, in document: ModelDocument
  ) throws(ManagedObjectModelError) {
    var noteNames = ["documentation"]
    if case .attribute = property.kind { noteNames += ["name", "type", "default", "access"] }
    let notes = try Notes(
      property.node, allowing: noteNames, entity: entity.name, property: property.name, in: document)
    name = notes["name"]
    type = notes["type"]
    fallback = notes["default"]
    access = notes["access"]
    documentation = notes["documentation"]
    if let access, !Self.accessLevels.contains(access) {
      throw document.error(
        property.node, entity: entity.name, property: property.name,
        "has the swift.access \(access); it is one of \(Self.accessLevels.joined(separator: ", "))")
    }
  }

  /// The lines of a docstring, each with its line end; "" without one.
  func docstring(indent: String) -> String {
    guard let documentation else { return "" }
    return documentation.split(separator: "\n", omittingEmptySubsequences: false)
      .map { $0.isEmpty ? "\(indent)///\n" : "\(indent)/// \($0)\n" }.joined()
  }
}

/// The notes of one element by name. Unknown names are errors.
private struct Notes {
  private let values: [String: String]

  init(
    _ node: ModelNode, allowing noteNames: [String], entity: String, property: String?, in document: ModelDocument
  ) throws(ManagedObjectModelError) {
    var values: [String: String] = [:]
    for entry in node.userInfo {
      guard let name = entry.generatorNote else { continue }
      guard noteNames.contains(name) else {
        throw document.error(
          entry.node, entity: entity, property: property,
          "has the user info \(entry.key), which means nothing here; known are "
            + noteNames.map { ModelNode.generatorPrefix + $0 }.sorted().joined(separator: ", "))
      }
      values[name] = entry.value
    }
    self.values = values
  }

  subscript(name: String) -> String? { values[name] }
}
