internal import CSystem

/// Reads the values of a C argument list, of which Swift only has the pointer.
///
/// A `va_list` can be read in C only, one argument after the other, each with its type. So the kinds of all arguments
/// are handed to a C function (`csystem_read_arguments`), which fills one 64-bit word for each: 'p' for a pointer, 'i'
/// for an int, 'l' for a long, 'd' for a double. They are copied, not read in place: a list that Swift made may be used
/// again by its owner.
enum VariadicReader {
  /// - Returns: a value for each specifier: `Int64`, `Double`, `String` or an object; nil for a null pointer.
  static func values(of list: CVaListPointer, for specifiers: [FormatSpecifier]) -> [Any?] {
    var kinds = specifiers.map { specifier -> CChar in
      switch specifier {
      case .object, .keyPath, .cString: CChar(UInt8(ascii: "p"))
      case .int32: CChar(UInt8(ascii: "i"))
      case .int64: CChar(UInt8(ascii: "l"))
      case .double: CChar(UInt8(ascii: "d"))
      }
    }
    var words = [UInt64](repeating: 0, count: specifiers.count)
    csystem_read_arguments(list, &kinds, &words, specifiers.count)
    return zip(specifiers, words).map { specifier, word in value(of: specifier, word) }
  }

  private static func value(of specifier: FormatSpecifier, _ word: UInt64) -> Any? {
    switch specifier {
    case .int32, .int64: return Int64(bitPattern: word)
    case .double: return Double(bitPattern: word)
    case .cString: return UnsafePointer<CChar>(bitPattern: UInt(word)).map { String(cString: $0) }
    case .object, .keyPath:
      guard let pointer = UnsafeRawPointer(bitPattern: UInt(word)) else { return nil }
      // An object in an argument list is its reference; `withVaList` keeps it alive as long as the list.
      return Unmanaged<AnyObject>.fromOpaque(pointer).takeUnretainedValue()
    }
  }
}
