/// The text of an object without its value: the parameters of a job are kept as text, and nobody looks into them on
/// their way into the store.
///
/// The bytes are read once. What stands between two stretches of white space is copied in one piece:
///
/// ```text
/// {"path": "/data/a.csv", "row": 17}
/// ├──────┤ ├────────────┤ ├────┤ ├─┤
/// {"path":"/data/a.csv","row":17}
/// ```
///
/// It takes a third of the instructions of `value()` and ``JSONValue/text`` (`Benchmarks bulk`).
extension JSONParser {
  /// Memory for the texts of many objects, one after the other.
  struct ObjectText {
    fileprivate var copied: [UInt8] = []
    /// Where the bytes begin that are not copied yet.
    fileprivate var start = 0
    /// The names so far in the objects that are open, the outermost first.
    fileprivate var names: [Range<Int>] = []
    fileprivate var isASCII = true

    init() {}
  }

  /// The most members of an object whose names are compared with each other.
  private static let mostNames = 32

  /// The ``JSONValue/text`` of the object that comes next, at a depth of one.
  ///
  /// Nil for an object of another form than most: with an escape in a string, a name that is not ASCII, very many
  /// members. Nil also for one that is no JSON, or for anything else than an object. The position is without meaning
  /// then: the caller goes back and reads the value with `value()`, which says what is wrong.
  mutating func plainObjectText(_ text: inout ObjectText) -> String? {
    skipSpace()
    guard position < bytes.count, bytes[position] == UInt8(ascii: "{") else { return nil }
    text.copied.removeAll(keepingCapacity: true)
    text.names.removeAll(keepingCapacity: true)
    (text.start, text.isASCII) = (position, true)
    guard passObject(&text, depth: 1) else { return nil }
    if text.copied.isEmpty, text.isASCII { return ascii(text.start..<position) }
    text.copied += bytes[text.start..<position]
    // ASCII is valid, and checking takes time.
    return text.isASCII ? String(decoding: text.copied, as: UTF8.self) : String(validating: text.copied, as: UTF8.self)
  }

  private mutating func passValue(_ text: inout ObjectText, depth: Int) -> Bool {
    guard depth < Self.maximumDepth, position < bytes.count else { return false }
    switch bytes[position] {
    case UInt8(ascii: "\""): return passString(&text)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
      // What is wrong with it is said by `value()`.
      do { try skipNumber() } catch { return false }
      return true
    case UInt8(ascii: "{"): return passObject(&text, depth: depth)
    case UInt8(ascii: "["): return passArray(&text, depth: depth)
    case UInt8(ascii: "t"): return pass("true")
    case UInt8(ascii: "f"): return pass("false")
    case UInt8(ascii: "n"): return pass("null")
    default: return false
    }
  }

  private mutating func passObject(_ text: inout ObjectText, depth: Int) -> Bool {
    position += 1
    passSpace(&text)
    if pass(UInt8(ascii: "}")) { return true }
    let first = text.names.count
    repeat {
      passSpace(&text)
      guard passName(&text, first: first) else { return false }
      passSpace(&text)
      guard pass(UInt8(ascii: ":")) else { return false }
      passSpace(&text)
      guard passValue(&text, depth: depth + 1) else { return false }
      passSpace(&text)
    } while pass(UInt8(ascii: ","))
    text.names.removeLast(text.names.count - first)
    return pass(UInt8(ascii: "}"))
  }

  /// Passes over a name that no member before it in the object has; `first` is the number of the object's first name.
  private mutating func passName(_ text: inout ObjectText, first: Int) -> Bool {
    let start = position + 1
    let wasASCII = text.isASCII
    text.isASCII = true
    guard position < bytes.count, bytes[position] == UInt8(ascii: "\""), passString(&text) else { return false }
    // Texts with other characters may be equal though their bytes differ.
    guard text.isASCII, text.names.count - first < Self.mostNames else { return false }
    text.isASCII = wasASCII
    let name = start..<position - 1
    for other in text.names[first...] where other.count == name.count {
      if bytes[other] == bytes[name] { return false }
    }
    text.names.append(name)
    return true
  }

  private mutating func passArray(_ text: inout ObjectText, depth: Int) -> Bool {
    position += 1
    passSpace(&text)
    if pass(UInt8(ascii: "]")) { return true }
    repeat {
      passSpace(&text)
      guard passValue(&text, depth: depth + 1) else { return false }
      passSpace(&text)
    } while pass(UInt8(ascii: ","))
    return pass(UInt8(ascii: "]"))
  }

  /// Passes over a string whose bytes are those of its text: none is escaped, and none has to be.
  private mutating func passString(_ text: inout ObjectText) -> Bool {
    let start = position + 1
    let (end, isASCII) = bytes.withUnsafeBufferPointer { bytes in
      var end = start
      var isASCII = true
      while end < bytes.count {
        let byte = bytes[end]
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20 || byte == 0x7F { break }
        if byte >= 0x80 { isASCII = false }
        end += 1
      }
      return (end, isASCII)
    }
    if !isASCII { text.isASCII = false }
    guard end < bytes.count, bytes[end] == UInt8(ascii: "\"") else { return false }
    position = end + 1
    return true
  }

  private mutating func pass(_ byte: UInt8) -> Bool {
    guard position < bytes.count, bytes[position] == byte else { return false }
    position += 1
    return true
  }

  private mutating func pass(_ word: StaticString) -> Bool {
    let end = position + word.utf8CodeUnitCount
    guard end <= bytes.count, word.withUTF8Buffer({ bytes[position..<end].elementsEqual($0) }) else { return false }
    position = end
    return true
  }

  /// Passes over white space, which the text does not have.
  private mutating func passSpace(_ text: inout ObjectText) {
    guard position < bytes.count, bytes[position] <= 0x20 else { return }
    let end = position
    skipSpace()
    guard position > end else { return }
    text.copied += bytes[text.start..<end]
    text.start = position
  }
}
