/// The kind of argument that a `%…` of a format takes.
enum FormatSpecifier: Equatable {
  case object
  case keyPath
  case int32
  case int64
  case double
  case cString

  /// The specifier of a conversion character such as "d"; nil for a character that is not one.
  init?(_ conversion: Unicode.Scalar, isLong: Bool) {
    switch conversion {
    case "@": self = .object
    case "K": self = .keyPath
    case "d", "D", "i", "u", "U", "x", "X", "o", "O", "c", "C": self = isLong ? .int64 : .int32
    case "f", "F", "e", "E", "g", "G", "a", "A": self = .double
    case "s", "S": self = .cString
    default: return nil
    }
  }
}

/// The values for the `%…` of a format.
enum FormatArguments {
  case list([Any?])
  case pointer(CVaListPointer)

  /// One value for each specifier, in order; fewer if there are fewer arguments.
  func values(for specifiers: [FormatSpecifier]) -> [Any?] {
    switch self {
    case .list(let values): Array(values.prefix(specifiers.count))
    case .pointer(let list): VariadicReader.values(of: list, for: specifiers)
    }
  }
}
