internal import CSystem

/// The compiler's description of a type or of its enclosing context: a "context descriptor" in an image's read-only
/// data.
///
/// Source: docs/ABI/TypeMetadata.md and include/swift/ABI/Metadata.h of Swift. The layout is the same on all platforms
/// without Objective-C. The pointers live as long as the process: Swift images are never unloaded.
struct TypeDescriptor: Hashable, @unchecked Sendable {
  // `@unchecked Sendable`: constant data.
  let address: UnsafeRawPointer

  private enum Kind: UInt32 {
    case module = 0
    case `extension` = 1
    case anonymous = 2
    case `class` = 16
    case `struct` = 17
    case `enum` = 18
  }

  private var flags: UInt32 { address.load(as: UInt32.self) }
  private var kind: Kind? { Kind(rawValue: flags & 0x1f) }
  var isClass: Bool { kind == .class }
  var isGeneric: Bool { flags & 0x80 != 0 }

  private var name: String {
    let field = address + 8
    return String(cString: (field + Int(field.load(as: Int32.self))).assumingMemoryBound(to: CChar.self))
  }

  /// The context that declares the type; nil for a module.
  private var parent: TypeDescriptor? {
    RelativePointer(address + 4).indirectable.map(TypeDescriptor.init)
  }

  /// The descriptor of a class's superclass; for a generic superclass that of the generic class. Nil for no superclass.
  var superclass: TypeDescriptor? {
    guard let name = RelativePointer(address + 20).target else { return nil }
    return TypeDescriptor(mangledName: name)
  }

  /// The names of the module, the enclosing types and the type itself.
  var path: [String] {
    var names: [String] = []
    var next: TypeDescriptor? = self
    while let current = next {
      switch current.kind {
      case .anonymous: next = current.parent
      case .extension:
        // A type declared in an extension is enclosed by the extended type.
        next = RelativePointer(current.address + 8).target.flatMap(TypeDescriptor.init(mangledName:)) ?? current.parent
      default:
        names.append(current.name)
        next = current.parent
      }
    }
    return names.reversed()
  }

  /// The type itself. Only for types that are not generic.
  var type: Any.Type? {
    guard !isGeneric, let accessor = RelativePointer(address + 12).target,
      let metadata = csystem_type_metadata(accessor)
    else { return nil }
    return unsafeBitCast(metadata, to: Any.Type.self)
  }

  init(_ address: UnsafeRawPointer) { self.address = address }

  /// The descriptor in a class's metadata: after the kind, the superclass and six numbers.
  init(classMetadata type: AnyClass) {
    self.init(unsafeBitCast(type, to: UnsafeRawPointer.self).load(fromByteOffset: 40, as: UnsafeRawPointer.self))
  }

  /// The nominal type at the start of a mangled name. The compiler writes it as one byte for the kind of reference and
  /// a relative pointer.
  private init?(mangledName: UnsafeRawPointer) {
    let target = mangledName + 1
    switch mangledName.load(as: UInt8.self) {
    case 1: address = target + Int(target.loadUnaligned(as: Int32.self))
    case 2: address = (target + Int(target.loadUnaligned(as: Int32.self))).load(as: UnsafeRawPointer.self)
    default: return nil
    }
  }
}

/// A pointer that is stored as its distance from its own place.
struct RelativePointer {
  private let field: UnsafeRawPointer
  private let distance: Int

  init(_ field: UnsafeRawPointer) {
    self.field = field
    distance = Int(field.load(as: Int32.self))
  }

  var target: UnsafeRawPointer? { distance == 0 ? nil : field + distance }

  /// The target. A set lowest bit means that another pointer leads there.
  var indirectable: UnsafeRawPointer? {
    if distance == 0 { return nil }
    return distance & 1 == 0 ? field + distance : (field + (distance & ~1)).load(as: UnsafeRawPointer?.self)
  }

  /// The descriptor to which a record of a type refers; the lowest bits give the kind of reference.
  var typeReference: TypeDescriptor? { reference(kind: distance & 3, at: distance & ~3) }

  /// The same with the kind of reference from another field.
  func typeReference(kind: Int) -> TypeDescriptor? { reference(kind: kind, at: distance) }

  private func reference(kind: Int, at distance: Int) -> TypeDescriptor? {
    guard distance != 0 else { return nil }
    switch kind {
    case 0: return TypeDescriptor(field + distance)
    case 1: return (field + distance).load(as: UnsafeRawPointer?.self).map(TypeDescriptor.init)
    default: return nil
    }
  }
}
