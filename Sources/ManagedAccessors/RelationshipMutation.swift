/// The change of a to-many relationship that a method of Xcode's generated classes makes.
struct RelationshipMutation {
  /// The call of CoreData's method, with the arguments `value0` and `value1`.
  let body: String

  /// Nil if the method's name or parameters have another form.
  init?(_ name: String, _ parameters: [(label: String, type: ManagedType)]) {
    let labels = parameters.map(\.label)
    func key(after prefix: String) -> String? {
      let suffix = name.dropFirst(prefix.count)
      guard name.hasPrefix(prefix), let first = suffix.first, first.isUppercase else { return nil }
      return "relationshipKey(\"\(first.lowercased() + suffix.dropFirst())\")"
    }
    let objects = parameters.first.map { RelationshipMutation.objects($0.type, "value0") } ?? nil
    let isIndex = { (type: ManagedType) in type == .nominal(.swift("Int", .struct), arguments: []) }
    func indexes(_ position: Int) -> String? {
      let type = parameters[position].type
      if isIndex(type) { return "Foundation.NSIndexSet(index: value\(position))" }
      return type.text == "Foundation.NSIndexSet" ? "value\(position)" : nil
    }
    switch labels {
    case [""]:
      guard let objects else { return nil }
      if let key = key(after: "addTo") {
        body = "addObjects(\(objects), toRelationship: \(key))"
      } else if let key = key(after: "removeFrom") {
        body = "removeObjects(\(objects), fromRelationship: \(key))"
      } else {
        return nil
      }
    case ["at"]:
      guard let key = key(after: "removeFrom"), let indexes = indexes(0) else { return nil }
      body = "removeObjects(at: \(indexes), fromRelationship: \(key))"
    case ["", "at"]:
      guard let key = key(after: "insertInto"), let indexes = indexes(1) else { return nil }
      let list = isIndex(parameters[1].type) ? "[value0]" : "value0"
      body = "insertObjects(\(list), at: \(indexes), inRelationship: \(key))"
    default:
      guard labels.count == 2, labels[0] == "at", labels[1].hasPrefix("with"), let key = key(after: "replace"),
        let indexes = indexes(0)
      else { return nil }
      let list = isIndex(parameters[0].type) ? "[value1]" : "value1"
      body = "replaceObjects(at: \(indexes), with: \(list), inRelationship: \(key))"
    }
  }

  /// The argument as a set, made of one object or of a collection.
  private static func objects(_ type: ManagedType, _ value: String) -> String? {
    guard case .nominal(let name, let arguments) = type else { return nil }
    if name.text == "Foundation.NSSet" || name.text == "Foundation.NSOrderedSet" { return value }
    if name.isSwift("Set") { return "Foundation.NSSet(array: Swift.Array(\(value)))" }
    if name.isSwift("Array") { return "Foundation.NSOrderedSet(array: \(value))" }
    return name.kind == .class && arguments.isEmpty ? "Foundation.NSSet(object: \(value))" : nil
  }
}
