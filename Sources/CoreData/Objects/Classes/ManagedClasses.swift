internal import Synchronization

/// The subclasses of `NSManagedObject` in the program, by name. A model's class name may mean a class of any module.
///
/// The runtime only finds classes by "Module.Name". So the first look-up reads the lists of types in the program's
/// images, which takes about a millisecond. A name that is not found is looked up again in images loaded since.
///
/// The answers are descriptors, not types: making a type runs the metadata accessor of its class, which most of the
/// program's classes do not need.
///
/// ```text
/// find("Person", preferring: "Library")
///   ├ ClassNames                     a class that got a number
///   ├ index.types["Person"]          after ClassIndex.update(), if the name is unknown so far
///   └ several modules have one       Library's, else the program's own, else .ambiguous
/// ```
///
/// `SwiftImages` says where the lists are.
enum ManagedClasses {
  /// An ambiguous name is an answer of its own, so that a message can list the candidates: the entity gets
  /// `NSManagedObject` then.
  enum Answer {
    case found(NSManagedObject.Type)
    case none
    /// The full names of all classes with the name.
    case ambiguous([String])
  }

  /// Read once and added to. Images are never unloaded, so nothing leaves it.
  private static let index = Mutex(ClassIndex())

  /// The class of a name: "Person", "Outer.Person" or "Module.Person".
  ///
  /// If several modules have one, the class of the given module is taken, else the program's own.
  ///
  /// O(1) for a name that is known. An unknown one asks for the list of images each time, because a library may have
  /// been loaded since.
  ///
  /// - Parameters:
  ///   - name: with or without the module and enclosing types.
  ///   - module: the model's "Current Product Module" or the module that it names.
  static func find(_ name: String, preferring module: String? = nil) -> Answer {
    if let type = ClassNames.type(named: name) as? NSManagedObject.Type { return .found(type) }
    guard RuntimeAssumptions.typeDescriptors.holds else {
      let fullName = name.contains(".") ? name : "\(module ?? programModule).\(name)"
      return (NSClassFromString(fullName) as? NSManagedObject.Type).map { .found($0) } ?? .none
    }
    let candidates = index.withLock { index in
      if let types = index.types[name] { return types }
      index.update()
      return index.types[name] ?? []
    }
    if candidates.count > 1 {
      for moduleName in [module, programModule] {
        let chosen = candidates.filter { $0.path[0] == moduleName }
        if chosen.count == 1 { return answer(chosen[0]) }
      }
      return .ambiguous(candidates.map { $0.path.joined(separator: ".") }.sorted())
    }
    return candidates.first.map(answer) ?? .none
  }

  private static func answer(_ descriptor: TypeDescriptor) -> Answer {
    (descriptor.type as? NSManagedObject.Type).map { .found($0) } ?? .none
  }

  /// The module of the program's executable. Both have the target's name; characters that a module's name cannot have
  /// are underscores there.
  private static let programModule: String = {
    let path =
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
    return String(
      URL(fileURLWithPath: path).lastPathComponent.map { $0.isLetter || $0.isNumber || $0 == "_" ? $0 : "_" })
  }()
}

extension ManagedClasses {
  /// The only class of a name, with or without its module, that inherits from another class; nil for none or several.
  ///
  /// For migration policies, which are no managed objects: a mapping model names them by text. Not indexed, since it is
  /// asked a few times in a process.
  ///
  /// Complexity: reads the lists of all types in the program, which takes about a millisecond.
  static func find(_ name: String, inheriting base: AnyClass) -> AnyClass? {
    if let type = ClassNames.type(named: name) { return type }
    let baseDescriptor = TypeDescriptor(classMetadata: base)
    var matchingTypes: Set<TypeDescriptor> = []
    for image in SwiftImages.all {
      image.forEachType { type in
        guard type.isClass, !type.isGeneric, type.path.last == name || type.path.joined(separator: ".") == name,
          sequence(first: type, next: \.superclass).contains(baseDescriptor)
        else { return }
        matchingTypes.insert(type)
      }
    }
    return matchingTypes.count == 1 ? matchingTypes.first?.type as? AnyClass : nil
  }

  /// The key path tables in the program's images.
  ///
  /// In no order. Asked for once for each class whose key paths are used.
  static var keyPathTables: [any ManagedKeyPathTable.Type] {
    let descriptors = index.withLock { index in
      index.update()
      return index.keyPathTables
    }
    return descriptors.compactMap { $0.type as? any ManagedKeyPathTable.Type }
  }
}

/// The classes read from the images so far.
///
/// An image is recognised by the address of its list of types. One class has an entry under each name by which a model
/// may call it.
private struct ClassIndex: Sendable {
  private(set) var types: [String: [TypeDescriptor]] = [:]
  private(set) var keyPathTables: [TypeDescriptor] = []
  private var seen: Set<UInt> = []

  /// Reads the images loaded since the last update.
  ///
  /// Idempotent and cheap if nothing was loaded: a look at each image's address.
  mutating func update() {
    for image in SwiftImages.all {
      guard let start = image.types.baseAddress, seen.insert(UInt(bitPattern: start)).inserted else { continue }
      if let table = TypeDescriptor.keyPathTable {
        image.forEachType(conformingTo: table.address) { keyPathTables.append($0) }
      }
      image.forEachType { type in
        guard type.isClass, !type.isGeneric, type.isManagedObject else { return }
        let path = type.path
        // "Module.Outer.Person", "Outer.Person", "Person", and without the enclosing type "Module.Person".
        var names = Set(path.indices.map { path[$0...].joined(separator: ".") })
        if let module = path.first, let name = path.last { names.insert("\(module).\(name)") }
        for name in names { types[name, default: []].append(type) }
      }
    }
  }
}

extension TypeDescriptor {
  /// Whether the class inherits from `NSManagedObject`.
  ///
  /// Follows descriptors, without making a type: the superclass of a class in another image is found through the
  /// image's indirect pointer.
  fileprivate var isManagedObject: Bool {
    var next = superclass
    while let current = next {
      if current == .managedObject { return true }
      next = current.superclass
    }
    return false
  }

  private static let managedObject = TypeDescriptor(classMetadata: NSManagedObject.self)

  /// The descriptor of the protocol, from the metadata of its existential type.
  ///
  /// Nil with an unknown layout; then key paths have the names that the program registers.
  fileprivate static let keyPathTable: TypeDescriptor? = TypeDescriptor(protocolOf: (any ManagedKeyPathTable).self)

  /// The only protocol of an existential type without a superclass: after the kind, the flags and the number of
  /// protocols.
  ///
  /// ```text
  ///  0  kind
  ///  8  flags, number of protocols (at 12)
  /// 16  protocol descriptor
  /// ```
  ///
  /// Source: docs/ABI/TypeMetadata.md of Swift, "Existential Metadata".
  private init?(protocolOf type: Any.Type) {
    let metadata = unsafeBitCast(type, to: UnsafeRawPointer.self)
    guard metadata.load(fromByteOffset: 12, as: UInt32.self) == 1 else { return nil }
    self.init(metadata.load(fromByteOffset: 16, as: UnsafeRawPointer.self))
  }
}
