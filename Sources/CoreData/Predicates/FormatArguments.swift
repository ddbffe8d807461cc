/// The kind of argument that a `%…` of a format takes.
///
/// The lexer reads it, `FormatParser` collects all of them in the order of the text, and `FormatArguments` then fetches
/// one value for each. The order matters for a C argument list only: there the size of an argument follows from the
/// specifier, so a wrong one would shift all later ones.
///
/// ```text
/// %@                 .object    a value, an object, an object ID, a predicate or an expression
/// %K                 .keyPath   a text such as "author.name"
/// %d %i %u %x %c     .int32     C promotes shorter integers to int, so %hd reads an int too
/// %ld %lld %qd %zu   .int64     l, q, j, z and t all mean 64 bits on Linux
/// %f %e %g %a        .double    C promotes float to double
/// %s                 .cString   a zero-terminated text, from C argument lists only
/// ```
///
/// Source: ISO C11, 7.21.6.1 (the conversions of printf) and 6.5.2.2 (default argument promotions).
enum FormatSpecifier: Equatable {
  case object
  case keyPath
  case int32
  case int64
  case double
  case cString

  /// The specifier of a conversion character such as "d"; nil for a character that is not one.
  ///
  /// The unsigned conversions read the same bits as signed ones: `%u` with 4294967295 gives -1 from a C list. Arguments
  /// of a Swift array keep their own types, and the specifier only checks that they are numbers.
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

/// The values for the `%…` of a format, in one of the two forms in which callers have them.
enum FormatArguments {
  /// Swift values, as `NSPredicate(format:_:)` and `argumentArray:` pass them. Nil is an argument like any other.
  case list([Any?])
  /// A C argument list, as `withVaList` makes it. It is read from the front, and only the types that were put in can be
  /// taken out.
  case pointer(CVaListPointer)

  /// One value for each specifier, in order; fewer if there are fewer arguments.
  ///
  /// More arguments than specifiers are ignored, as with Apple's. Too few are noticed by the parser when it comes to
  /// the specifier that has none, so that the error names its place. A C list cannot tell that it is too short: reading
  /// on would return whatever lies behind it.
  func values(for specifiers: [FormatSpecifier]) -> [Any?] {
    switch self {
    case .list(let values): Array(values.prefix(specifiers.count))
    case .pointer(let list): VariadicReader.values(of: list, for: specifiers)
    }
  }
}
