/// The Swift file that supplies the bodies of a module's `@NSManaged` declarations, and aliases for ambiguous names.
///
/// The compiler leaves an undefined symbol for each getter, setter and method. This file defines methods of the same
/// class and types under exactly those symbols; the compiler compares the types of both. `dynamic` keeps optimised
/// builds from changing the methods, and `@usableFromInline` lets other modules call the public ones.
public struct AccessorSource {
  /// The content of the file. Without declarations and ambiguous names it is one comment.
  public let text: String
  /// The declarations that cannot be supplied. The build should fail if there are any.
  public let errors: [AccessorError]

  /// Scans the sources of a module. Reads no files.
  ///
  /// - Parameters:
  ///   - module: the module's name, as the compiler gets it.
  ///   - files: paths and contents of the module's Swift files, generated ones included. The file names
  ///     must be those that the compiler gets: symbols of private declarations contain a hash of them.
  public init(module: String, files: [(path: String, contents: String)]) {
    let aliases = AmbiguousNames.aliases(for: files)
    let hasClasses = files.contains { $0.contents.contains("NSManaged") }
    let scanned = hasClasses ? files.map { SourceScanner.scan($0.contents, path: $0.path) } : []
    var writer = AccessorWriter(TypeResolver(module: module, files: scanned))
    for file in scanned { writer.add(file) }
    if writer.isEmpty {
      text =
        "// No declaration of the module is marked @NSManaged.\n"
        + (aliases.isEmpty ? "" : "\npublic import CoreData\n\n\(aliases)")
      errors = scanned.flatMap(\.errors) + writer.errors
      return
    }
    text = writer.text + (aliases.isEmpty ? "" : "\n\(aliases)")
    errors = scanned.flatMap(\.errors) + writer.errors
  }
}

/// Writes the functions for each member in turn.
private struct AccessorWriter {
  private let resolver: TypeResolver
  private(set) var errors: [AccessorError] = []
  private var imports: Set<String> = []
  private var keys = ""
  private var functions: [(owner: String, text: String)] = []
  private var complaints = ""
  private var tables: [(owner: NominalType, entries: String, validations: String)] = []
  private var count = 0

  init(_ resolver: TypeResolver) { self.resolver = resolver }

  var isEmpty: Bool { functions.isEmpty && tables.isEmpty && complaints.isEmpty }

  var text: String {
    var text = """
      // Made from the declarations that are marked @NSManaged. Do not edit: change those.

      public import CoreData

      """
    for module in imports.sorted() { text += "import \(module)\n" }
    if !keys.isEmpty { text += "\nprivate enum Keys {\n\(keys)}\n" }
    for (owner, functions) in functions { text += "\nextension \(owner) {\n\(functions)}\n" }
    text += complaints
    for (index, table) in tables.enumerated() {
      let owner = table.owner.text
      text += """

        @usableFromInline enum __ManagedKeyPaths\(index): CoreData.ManagedKeyPathTable {
          @usableFromInline nonisolated static var objectClass: CoreData.NSManagedObject.Type { \(owner).self }
          @usableFromInline nonisolated static var keyPaths: [Swift.AnyKeyPath: Swift.String] {
            var paths: [Swift.AnyKeyPath: Swift.String] = [:]
        \(table.entries)    return paths
          }
        \(validations(table.validations))}

        """
    }
    return text
  }

  private func validations(_ entries: String) -> String {
    if entries.isEmpty { return "" }
    return """
        @usableFromInline nonisolated static var validations: [Swift.String: CoreData.ManagedValidation] {
          var methods: [Swift.String: CoreData.ManagedValidation] = [:]
      \(entries)    return methods
        }

      """
  }

  mutating func add(_ file: SourceFile) {
    for member in file.namedMembers where !file.hasTables && resolver.isManagedObject(member.owner) {
      // A class that no other file can name has no table.
      guard let owner = try? resolver.owner(member.owner, in: file) else { continue }
      switch member.kind {
      case .computedProperty:
        addEntry(
          owner,
          conditional(member.conditions, "    paths[\\\(owner.text).\(member.quotedName)] = \"\(member.name)\"\n"))
      case .validation:
        addEntry(
          owner,
          validation: conditional(
            member.conditions,
            "    methods[\"\(member.validatedKey)\"] = { try ($0 as! \(owner.text)).\(member.name)($1) }\n"))
      }
    }
    for member in file.members {
      do throws(TypeResolver.Unresolved) {
        try add(member, file)
      } catch {
        let name = (member.owner + [member.name]).joined(separator: ".")
        let reason = "\(name): \(error.reason)"
        if member.conditions.isEmpty {
          errors.append(AccessorError(file: file.path, line: member.line, column: member.column, reason: reason))
        } else {
          // Only the compiler knows whether the declaration's condition holds.
          complaints += conditional(
            member,
            """
            #sourceLocation(file: \(literal(file.path)), line: \(member.line))
            #error(\(literal(reason)))
            #sourceLocation()

            """)
        }
      }
    }
  }

  private mutating func add(_ member: ManagedMember, _ file: SourceFile) throws(TypeResolver.Unresolved) {
    let owner = try resolver.owner(member.owner, in: file)
    let place = Place(
      owner: owner,
      context: Mangler.Context(type: owner, extensionModule: member.isInExtension ? resolver.module : nil),
      discriminator: member.isPrivate ? resolver.discriminator(file.path) : nil)
    count += 1
    switch member.kind {
    case .property(let syntax):
      let type = try resolver.resolve(syntax, from: member.owner, in: file)
      note(type)
      addProperty(member, place, type)
    case .method(let parameters):
      var types: [(label: String, type: ManagedType)] = []
      for parameter in parameters {
        types.append((parameter.label, try resolver.resolve(parameter.type, from: member.owner, in: file)))
      }
      try addMethod(member, place, types)
    }
  }

  /// The type and the conditions around a member.
  private struct Place {
    let owner: NominalType
    let context: Mangler.Context
    let discriminator: String?
  }

  /// Notes the imports for the classes of a type.
  private mutating func note(_ type: ManagedType) {
    switch type {
    case .optional(let wrapped): note(wrapped)
    case .nominal(let name, let arguments):
      if name.isImported, !KnownTypes.modules.contains(name.module) { imports.insert(name.module) }
      for argument in arguments { note(argument) }
    case .any, .anyObject, .existential: break
    }
  }

  private func literal(_ text: String) -> String {
    "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
  }

  private func conditional(_ member: ManagedMember, _ text: String) -> String { conditional(member.conditions, text) }

  private func conditional(_ conditions: [String], _ text: String) -> String {
    conditions.isEmpty ? text : "#if \(conditions.joined(separator: " && "))\n\(text)#endif\n"
  }

  // MARK: Properties

  private mutating func addProperty(_ member: ManagedMember, _ place: Place, _ type: ManagedType) {
    let getter = Mangler.accessor(.getter, of: member.name, place.discriminator, in: place.context, type)
    let setter = Mangler.accessor(.setter, of: member.name, place.discriminator, in: place.context, type)
    let key = "property\(count)"
    let access: String
    if let primitive = member.primitiveKey {
      access = "self[primitive: \"\(primitive)\", \(type.text).self]"
    } else {
      keys += conditional(
        member, "  nonisolated static let \(key) = CoreData.ManagedProperty<\(type.text)>(\"\(member.name)\")\n")
      access = "self[Keys.\(key)]"
      addKeyPath(member, place)
    }
    addFunctions(
      member, place,
      """
        \(member.attribute)@_silgen_name("\(getter)")
        nonisolated final dynamic func __managedGet\(count)() -> \(type.text) { \(access) }
        \(member.attribute)@_silgen_name("\(setter)")
        nonisolated final dynamic func __managedSet\(count)(_ value: __owned \(type.text)) { \(access) = value }

      """)
  }

  private mutating func addFunctions(_ member: ManagedMember, _ place: Place, _ text: String) {
    if place.owner.isImported, !KnownTypes.modules.contains(place.owner.module) { imports.insert(place.owner.module) }
    if let index = functions.firstIndex(where: { $0.owner == place.owner.text }) {
      functions[index].text += conditional(member, text)
    } else {
      functions.append((place.owner.text, conditional(member, text)))
    }
  }

  private mutating func addKeyPath(_ member: ManagedMember, _ place: Place) {
    guard !member.isPrivate else { return }
    addEntry(
      place.owner, conditional(member, "    paths[\\\(place.owner.text).\(member.quotedName)] = \"\(member.name)\"\n"))
  }

  private mutating func addEntry(_ owner: NominalType, _ entry: String = "", validation: String = "") {
    if let index = tables.firstIndex(where: { $0.owner == owner }) {
      tables[index].entries += entry
      tables[index].validations += validation
    } else {
      tables.append((owner, entry, validation))
    }
  }

  // MARK: Methods that change relationships

  private mutating func addMethod(
    _ member: ManagedMember, _ place: Place, _ parameters: [(label: String, type: ManagedType)]
  ) throws(TypeResolver.Unresolved) {
    guard let body = RelationshipMutation(member.name, parameters)?.body else {
      throw TypeResolver.Unresolved(
        reason: "Core Data supplies addTo…, removeFrom…, insertInto… and replace… of to-many relationships, "
          + "with the parameters that Xcode gives them")
    }
    let symbol = Mangler.method(member.name, place.discriminator, in: place.context, parameters)
    let list = parameters.enumerated().map { index, parameter in
      "_ value\(index): \(parameter.type.text)"
    }
    addFunctions(
      member, place,
      """
        \(member.attribute)@_silgen_name("\(symbol)")
        nonisolated final dynamic func __managedCall\(count)(\(list.joined(separator: ", "))) { \(body) }

      """)
    // A literal or a Swift collection is no NSSet on Linux.
    if parameters.count == 1, ["Foundation.NSSet", "Foundation.NSOrderedSet"].contains(parameters[0].type.text),
      parameters[0].label.isEmpty, !member.isPrivate
    {
      addFunctions(
        member, place,
        """
          \(member.isPublic ? "public " : "")nonisolated final func \(member.name)(
            _ value0: some Swift.Collection<some CoreData.NSManagedObject>
          ) { \(body) }

        """)
    }
  }
}

extension ManagedMember {
  /// The property whose primitive value `primitiveName` accesses; nil for other names.
  var primitiveKey: String? {
    let suffix = name.dropFirst("primitive".count)
    guard name.hasPrefix("primitive"), let first = suffix.first, first.isUppercase else { return nil }
    return first.lowercased() + suffix.dropFirst()
  }

  /// Functions that other modules call must be kept. The others may have types that other modules cannot see.
  var attribute: String { isPublic ? "@usableFromInline " : "" }

  /// The name in backticks if Swift reads it as something else.
  var quotedName: String { ["self", "Type", "Protocol"].contains(name) ? "`\(name)`" : name }
}
