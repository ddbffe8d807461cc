/// A member of a class that Objective-C's runtime would find by its name. Generated tables list them.
struct NamedMember {
  enum Kind {
    /// A computed property, which key-value coding reads.
    case computedProperty
    /// A method `validateName(_:)`, which validation calls for the property `name`.
    case validation
  }

  let kind: Kind
  let name: String
  /// The type that declares it, by the names in the file.
  let owner: [String]
  /// The conditions of the surrounding `#if`s.
  let conditions: [String]

  /// The property that a method `validateName` validates.
  var validatedKey: String {
    let suffix = name.dropFirst("validate".count)
    return suffix.prefix(1).lowercased() + suffix.dropFirst()
  }

  var quotedName: String { ["self", "Type", "Protocol"].contains(name) ? "`\(name)`" : name }
}

extension TokenReader {
  /// The name of the computed property whose declaration begins after `var`; nil for other properties, and for getters
  /// that throw or wait.
  func computedProperty() -> String? {
    var reader = self
    guard let name = reader.current, name.isName else { return nil }
    reader.index += 1
    guard reader.takeMark(":") else { return nil }
    _ = reader.type()
    guard reader.takeMark("{"), let first = reader.current else { return nil }
    if ["willSet", "didSet"].contains(where: first.isWord) { return nil }
    if first.isWord("get"), let next = reader.peek(), ["async", "throws"].contains(where: next.isWord) { return nil }
    return name.text
  }

  /// The name of the method that begins after `func`, if it has the form of a validation on Apple's platforms:
  /// `validateAge(_ value: AutoreleasingUnsafeMutablePointer<AnyObject?>) throws`.
  func validation() -> String? {
    var reader = self
    guard let name = reader.current, name.isName, name.text.hasPrefix("validate"),
      name.text.dropFirst("validate".count).first?.isUppercase ?? false
    else { return nil }
    reader.index += 1
    guard reader.takeMark("("), reader.current?.isWord("_") ?? false else { return nil }
    reader.index += 1
    if reader.current?.isName ?? false { reader.index += 1 }
    guard reader.takeMark(":"), reader.type().text == "AutoreleasingUnsafeMutablePointer<AnyObject?>",
      reader.takeMark(")"), reader.current?.isWord("throws") ?? false
    else { return nil }
    return name.text
  }
}
