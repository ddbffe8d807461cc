internal import CSystem

/// Reads the values of a C argument list, of which Swift only has the pointer.
enum VariadicReader {
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
