internal import CSystem

/// The compiler's description of a type or of its enclosing context: a "context descriptor" in an image's read-only
/// data.
///
/// ```text
///  0  flags            kind in bits 0…4, generic in bit 7
///  4  parent           relative: the enclosing type, extension or module
///  8  name             relative, to a C string  (of an extension: the mangled name of the extended type)
/// 12  accessor         relative, to the function that makes the type's metadata
/// 16  fields           relative
/// 20  superclass       relative, to a mangled name (of a class)
/// ```
///
/// Every field is four bytes: a relative pointer is the distance from the field itself to its target, so that the
/// loader need not change it. Reading descriptors makes no types and runs no code of the program.
///
/// Source: docs/ABI/TypeMetadata.md and include/swift/ABI/Metadata.h of Swift. The layout is the same on all platforms
/// without Objective-C. The pointers live as long as the process: Swift images are never unloaded.
struct TypeDescriptor: Hashable, @unchecked Sendable {
  // `@unchecked Sendable`: constant data.
  /// Two descriptors are equal if their addresses are: each type has one in its own image.
  let address: UnsafeRawPointer

  /// Other kinds, such as protocols and opaque types, are not read.
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

  /// Of a type, or of a module: both have it at this place. Anonymous contexts and extensions have none.
  private var name: String {
    let field = address + 8
    return String(cString: (field + Int(field.load(as: Int32.self))).assumingMemoryBound(to: CChar.self))
  }

  /// The context that declares the type; nil for a module.
  ///
  /// Through another pointer if the parent is in another image.
  private var parent: TypeDescriptor? {
    RelativePointer(address + 4).indirectable.map(TypeDescriptor.init)
  }

  /// The descriptor of a class's superclass; for a generic superclass that of the generic class. Nil for no superclass.
  ///
  /// A class in another image is found as well; a superclass whose name is not a plain reference, such as a generic one
  /// with arguments, gives the generic class or nil.
  var superclass: TypeDescriptor? {
    guard let name = RelativePointer(address + 20).target else { return nil }
    return TypeDescriptor(mangledName: name)
  }

  /// The names of the module, the enclosing types and the type itself.
  ///
  /// A private type has an anonymous context around it, which has no name in the source and none here: two private
  /// classes of one name in two files have one path.
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
  ///
  /// Runs the accessor, which makes and registers the metadata at the first time. A generic type needs arguments, and
  /// has none here.
  var type: Any.Type? {
    guard !isGeneric, let accessor = RelativePointer(address + 12).target,
      let metadata = csystem_type_metadata(accessor)
    else { return nil }
    return unsafeBitCast(metadata, to: Any.Type.self)
  }

  init(_ address: UnsafeRawPointer) { self.address = address }

  /// The descriptor in a class's metadata: after the kind, the superclass and six numbers.
  ///
  /// See `MethodTable` for the layout of the metadata.
  init(classMetadata type: AnyClass) {
    self.init(unsafeBitCast(type, to: UnsafeRawPointer.self).load(fromByteOffset: 40, as: UnsafeRawPointer.self))
  }

  /// The nominal type at the start of a mangled name. The compiler writes it as one byte for the kind of reference and
  /// a relative pointer.
  ///
  /// ```text
  /// byte 0       1: direct reference, 2: through a pointer; anything else is text
  /// bytes 1…4    distance from here to the descriptor, not aligned
  /// ```
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
///
/// A structure of its own, because the distance is read where the field lies: copying the four bytes elsewhere would
/// point elsewhere.
struct RelativePointer {
  private let field: UnsafeRawPointer
  private let distance: Int

  init(_ field: UnsafeRawPointer) {
    self.field = field
    distance = Int(field.load(as: Int32.self))
  }

  /// Nil for a distance of 0, which stands for no target.
  var target: UnsafeRawPointer? { distance == 0 ? nil : field + distance }

  /// The target. A set lowest bit means that another pointer leads there.
  ///
  /// Descriptors lie at multiples of four, so the lowest bits of the distance are free.
  var indirectable: UnsafeRawPointer? {
    if distance == 0 { return nil }
    return distance & 1 == 0 ? field + distance : (field + (distance & ~1)).load(as: UnsafeRawPointer?.self)
  }

  /// The descriptor to which a record of a type refers; the lowest bits give the kind of reference.
  var typeReference: TypeDescriptor? { reference(kind: distance & 3, at: distance & ~3) }

  /// The same with the kind of reference from another field.
  func typeReference(kind: Int) -> TypeDescriptor? { reference(kind: kind, at: distance) }

  /// Kinds 2 and 3 are of Objective-C.
  private func reference(kind: Int, at distance: Int) -> TypeDescriptor? {
    guard distance != 0 else { return nil }
    switch kind {
    case 0: return TypeDescriptor(field + distance)
    case 1: return (field + distance).load(as: UnsafeRawPointer?.self).map(TypeDescriptor.init)
    default: return nil
    }
  }
}
