/// A type whose module and kind are known, so that it can be named as the compiler names it.
indirect enum ManagedType: Equatable {
  case nominal(NominalType, arguments: [ManagedType])
  case optional(ManagedType)
  /// `Any`.
  case any
  /// `AnyObject`.
  case anyObject
  /// A value of whatever type that conforms to a protocol.
  case existential(NominalType)

  static func array(_ element: ManagedType) -> ManagedType { .nominal(.swift("Array", .struct), arguments: [element]) }

  /// The type in Swift, as the generated file writes it.
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

/// A class, structure, enumeration or protocol, with all that its mangled name has of it.
struct NominalType: Equatable {
  struct Component: Equatable {
    let name: String
    let kind: TypeDeclaration.Kind
  }

  let module: String
  let path: [Component]
  /// Whether to write the module before it: not for types of the module that is being built.
  var isImported = true

  var kind: TypeDeclaration.Kind { path.last?.kind ?? .class }
  var text: String {
    // What Foundation shows, it also shows under its own name.
    let shown = module == "FoundationEssentials" ? "Foundation" : module
    return ((isImported ? [shown] : []) + path.map(\.name)).joined(separator: ".")
  }

  func isSwift(_ name: String) -> Bool { module == "Swift" && path.count == 1 && path[0].name == name }

  static func swift(_ name: String, _ kind: TypeDeclaration.Kind) -> NominalType {
    NominalType(module: "Swift", path: [Component(name: name, kind: kind)])
  }
}
