/// Resolves the type names in declarations: which module has the type, and whether it is a class.
///
/// The sources declare the module's own types, and `KnownTypes` lists those of Swift, Foundation and CoreData. Any
/// other name is taken for a class of the only other module that the file imports, or of the module written before it.
struct TypeResolver {
  let module: String
  private var declarations: [String: [TypeDeclaration]] = [:]
  private var aliases: [String: TypeSyntax] = [:]

  init(module: String, files: [SourceFile]) {
    self.module = module
    for file in files {
      for type in file.types { declarations[type.path.joined(separator: "."), default: []].append(type) }
      for alias in file.aliases { aliases[alias.path.joined(separator: ".")] = alias.type }
    }
  }

  /// The reason why a name cannot be resolved, and what to write instead.
  struct Unresolved: Error { let reason: String }

  // MARK: Types

  func resolve(_ syntax: TypeSyntax, from scope: [String], in file: SourceFile, depth: Int = 0) throws(Unresolved)
    -> ManagedType
  {
    guard depth < 16 else { throw Unresolved(reason: "\(syntax.text) is declared in terms of itself") }
    switch syntax {
    case .optional(let wrapped): return .optional(try resolve(wrapped, from: scope, in: file, depth: depth + 1))
    case .array(let element): return .array(try resolve(element, from: scope, in: file, depth: depth + 1))
    case .dictionary(let key, let value):
      let arguments = [
        try resolve(key, from: scope, in: file, depth: depth + 1),
        try resolve(value, from: scope, in: file, depth: depth + 1),
      ]
      return .nominal(.swift("Dictionary", .struct), arguments: arguments)
    case .composition, .other: throw Unresolved(reason: "\(syntax.text) is not a type that a model can hold")
    case .named(let parts): return try named(parts, syntax, from: scope, in: file, depth: depth)
    }
  }

  private func named(
    _ parts: [TypeSyntax.Part], _ syntax: TypeSyntax, from scope: [String], in file: SourceFile, depth: Int
  ) throws(Unresolved) -> ManagedType {
    var names = parts.map(\.name)
    if let (type, aliased) = try find(names, from: scope, in: file) {
      if let aliased { return try resolve(aliased, from: type.path.map(\.name), in: file, depth: depth + 1) }
      switch type.kind {
      case .class where parts.allSatisfy(\.arguments.isEmpty): return .nominal(type, arguments: [])
      case .class: throw Unresolved(reason: "\(syntax.text) is generic, and classes of a model cannot be")
      default: throw Unresolved(reason: unsuitable(type, syntax))
      }
    }
    let isQualified = names.count > 1 && KnownTypes.modules.contains(names[0])
    if isQualified { names.removeFirst() }
    if names.count == 1 {
      if let alias = KnownTypes.aliases[names[0]] { return try resolve(alias, from: [], in: file, depth: depth + 1) }
      if names[0] == "Optional", parts[parts.count - 1].arguments.count == 1 {
        return .optional(try resolve(parts[parts.count - 1].arguments[0], from: scope, in: file, depth: depth + 1))
      }
      if let knownType = KnownTypes.type(names[0]) {
        guard case .nominal(let type, _) = knownType else { return knownType }
        var arguments: [ManagedType] = []
        for argument in parts[parts.count - 1].arguments {
          arguments.append(try resolve(argument, from: scope, in: file, depth: depth + 1))
        }
        let expected = type.isSwift("Dictionary") ? 2 : type.isSwift("Array") || type.isSwift("Set") ? 1 : 0
        guard arguments.count == expected else {
          throw Unresolved(reason: "\(syntax.text) is not a type that a model can hold")
        }
        return .nominal(type, arguments: arguments)
      }
    }
    guard let imported = imported(names, in: file) else {
      if names.count > 1 {
        throw Unresolved(
          reason:
            "the type that encloses \(syntax.text) is unknown: @NSManaged properties may only hold other modules' "
            + "classes that are not nested; use @ManagedAttribute(…) in place of @NSManaged")
      }
      throw Unresolved(
        reason: "it is unknown which module declares \(syntax.text): write the module before it, "
          + "\"Module.\(syntax.text)\", or use @ManagedAttribute(…) in place of @NSManaged")
    }
    return .nominal(imported, arguments: [])
  }

  private func unsuitable(_ type: NominalType, _ syntax: TypeSyntax) -> String {
    let kind =
      switch type.kind {
      case .struct: "a structure"
      case .enum: "an enumeration"
      case .protocol: "a protocol"
      case .class: "a class"
      }
    let advice =
      type.kind == .protocol
      ? "write the class" : "write @ManagedAttribute(…) in place of @NSManaged, which stores a raw value"
    return "\(syntax.text) is \(kind), and @NSManaged properties hold attribute types and classes only: \(advice)"
  }

  // MARK: Classes

  /// Whether a class that the module declares inherits from NSManagedObject, directly or from another one of the
  /// module.
  func isManagedObject(_ path: [String]) -> Bool {
    var path = path
    for _ in 0..<16 {
      if path == ["NSManagedObject"] || path == ["CoreData", "NSManagedObject"] { return true }
      guard let inherited = declarations[path.joined(separator: ".")]?.first(where: { $0.kind == .class })?.inherited
      else { return false }
      path = inherited
    }
    return false
  }

  /// The class that declares a member, by the names in the file.
  func owner(_ path: [String], in file: SourceFile) throws(Unresolved) -> NominalType {
    if let (type, alias) = try find(path, from: [], in: file) {
      if let alias {
        guard case .nominal(let aliased, _) = try resolve(alias, from: [], in: file) else {
          throw Unresolved(reason: "\(path.joined(separator: ".")) is not a class")
        }
        return aliased
      }
      return type
    }
    if path.count == 1, let type = KnownTypes.nominal(path[0]) { return type }
    guard let type = imported(path, in: file) else {
      throw Unresolved(
        reason: "it is unknown which module declares \(path.joined(separator: ".")): write the module before it")
    }
    return type
  }

  /// A type or an alias that the module declares, searched from the innermost scope outwards.
  private func find(_ names: [String], from scope: [String], in file: SourceFile) throws(Unresolved)
    -> (NominalType, alias: TypeSyntax?)?
  {
    var outer = scope
    while true {
      if let type = try declared(outer + names, in: file) { return type }
      if outer.isEmpty { break }
      outer.removeLast()
    }
    return names.count > 1 && names[0] == module ? try declared(Array(names.dropFirst()), in: file) : nil
  }

  private func declared(_ path: [String], in file: SourceFile) throws(Unresolved) -> (NominalType, alias: TypeSyntax?)?
  {
    if let alias = aliases[path.joined(separator: ".")] {
      let outside = path.dropLast().map { NominalType.Component(name: $0, kind: .class) }
      return (NominalType(module: module, path: Array(outside), isImported: false), alias)
    }
    guard !path.isEmpty else { return nil }
    var components: [NominalType.Component] = []
    for end in 1...path.count {
      // The module does not declare it: it is another module's type, or one inside an extension of another module's
      // type.
      guard let declaration = declaration(Array(path.prefix(end)), in: file) else { return nil }
      components.append(NominalType.Component(name: path[end - 1], kind: declaration.kind))
      // The compiler compares the types of both declarations, so no other type can take its place.
      if declaration.isPrivate {
        throw Unresolved(
          reason:
            "\(path.joined(separator: ".")) is private, and the file that supplies accessors cannot name it: make it "
            + "internal, or use @ManagedAttribute(…) in place of @NSManaged")
      }
    }
    return (NominalType(module: module, path: components, isImported: false), nil)
  }

  /// The declaration at a path; of several private types with one name the file's own.
  private func declaration(_ path: [String], in file: SourceFile) -> TypeDeclaration? {
    let candidates = declarations[path.joined(separator: ".")] ?? []
    return candidates.first { $0.file == file.path } ?? candidates.first { !$0.isPrivate }
  }

  /// The text in symbols that distinguishes a file's private declarations from others of the same name.
  ///
  /// Source: `SourceFile::getDiscriminatorForPrivateDecl` in lib/AST/Module.cpp of Swift.
  func discriminator(_ path: String) -> String {
    let name = path.split(separator: "/").last.map(String.init) ?? path
    return "_" + MD5.text(Array((module + name).utf8))
  }

  /// A class of another module: of the module written before it, or of the only one that the file imports.
  private func imported(_ names: [String], in file: SourceFile) -> NominalType? {
    let imports = Set(file.imports)
    func type(_ module: String, _ names: some Sequence<String>) -> NominalType {
      NominalType(module: module, path: names.map { NominalType.Component(name: $0, kind: .class) })
    }
    if names.count == 2, imports.contains(names[0]) { return type(names[0], names.dropFirst()) }
    let others = imports.subtracting(KnownTypes.modules).subtracting(TypeResolver.systemModules)
    guard names.count == 1, others.count == 1, let only = others.first else { return nil }
    return type(only, names)
  }

  private static let systemModules: Set<String> = [
    "Dispatch", "Glibc", "Musl", "Observation", "Synchronization", "Testing", "XCTest", "FoundationNetworking",
    "FoundationXML", "RegexBuilder", "Combine", "SwiftUI", "UIKit", "AppKit", "os", "Darwin", "ObjectiveC",
    "CoreGraphics", "CoreLocation", "CloudKit",
  ]
}
