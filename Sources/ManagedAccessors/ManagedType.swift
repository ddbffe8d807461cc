/// A type whose module and kind are known, as the compiler's symbols need them.
indirect enum ManagedType: Equatable {
  case nominal(NominalType, arguments: [ManagedType])
  case optional(ManagedType)
  /// `Any`.
  case any
  /// `AnyObject`.
  case anyObject
  /// A value of any type that conforms to a protocol.
  case existential(NominalType)

  static func array(_ element: ManagedType) -> ManagedType { .nominal(.swift("Array", .struct), arguments: [element]) }

  /// The type in Swift's syntax, for the generated file.
  var text: String {
    switch self {
    case .nominal(let type, let arguments):
      return type.text + (arguments.isEmpty ? "" : "<\(arguments.map(\.text).joined(separator: ", "))>")
    case .optional(.existential(let type)): return "(any \(type.text))?"
    case .optional(let wrapped): return "\(wrapped.text)?"
    case .any: return "Any"
    case .anyObject: return "Swift.AnyObject"
    case .existential(let type): return "any \(type.text)"
    }
  }
}

/// A class, structure, enumeration or protocol, with the parts of its mangled name.
struct NominalType: Equatable {
  struct Component: Equatable {
    let name: String
    let kind: TypeDeclaration.Kind
  }

  let module: String
  let path: [Component]
  /// Whether the module is written before the name: false for types of the module that is being built.
  var isImported = true

  var kind: TypeDeclaration.Kind { path.last?.kind ?? .class }
  var text: String {
    // Types of FoundationEssentials are also visible as Foundation's.
    let shown = module == "FoundationEssentials" ? "Foundation" : module
    return ((isImported ? [shown] : []) + path.map(\.name)).joined(separator: ".")
  }

  func isSwift(_ name: String) -> Bool { module == "Swift" && path.count == 1 && path[0].name == name }

  static func swift(_ name: String, _ kind: TypeDeclaration.Kind) -> NominalType {
    NominalType(module: "Swift", path: [Component(name: name, kind: kind)])
  }
}
