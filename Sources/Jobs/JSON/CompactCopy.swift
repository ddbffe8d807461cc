import CoreData

/// Copies one object of a JSON text without the white space between its parts, and checks it meanwhile.
///
/// All its functions return false for what is rare or wrong.
struct CompactCopy {
  static let mostMembers = 32
  static let mostDepth = 16

  /// What it writes.
  struct Memory {
    /// The bytes copied so far.
    var text: [UInt8] = []
    /// Where the names of the objects that are entered stand, those of the innermost last.
    var names: [Range<Int>] = []
  }

  private(set) var memory: Memory
  private(set) var position: Int
  /// Whether all strings are ASCII, and so are valid UTF-8.
  private(set) var isASCII = true
  private let bytes: UnsafeBufferPointer<UInt8>
  /// The beginning of the bytes that are read and not copied: what lies between two spaces is copied at once.
  private var runStart: Int

  init(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int, _ memory: Memory) {
    self.bytes = bytes
    self.memory = memory
    position = start
    runStart = start
  }

  /// Copies what was read up to there.
  mutating func copyRun(to end: Int) {
    memory.text.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[runStart..<end]))
    runStart = end
  }

  private mutating func skipSpace() {
    let start = position
    while position < bytes.count {
      switch bytes[position] {
      case 0x20, 0x09, 0x0A, 0x0D: position += 1
      default:
        if position > start { leaveOut(from: start) }
        return
      }
    }
  }

  private mutating func leaveOut(from start: Int) {
    copyRun(to: start)
    runStart = position
  }

  // MARK: Parts

  /// Copies the object that begins here.
  mutating func copyObject(depth: Int) -> Bool {
    let outerNames = memory.names.count
    guard take(UInt8(ascii: "{")) else { return false }
    if take(UInt8(ascii: "}")) { return true }
    repeat {
      skipSpace()
      let start = position
      guard skipString(isName: true), memory.names.count - outerNames < Self.mostMembers else { return false }
      let name = start..<position
      // A name that stands twice is an error.
      for other in memory.names[outerNames...] where isEqual(other, name) { return false }
      memory.names.append(name)
      guard take(UInt8(ascii: ":")), copyValue(depth: depth + 1) else { return false }
    } while take(UInt8(ascii: ","))
    memory.names.removeSubrange(outerNames...)
    return take(UInt8(ascii: "}"))
  }

  private mutating func copyArray(depth: Int) -> Bool {
    guard take(UInt8(ascii: "[")) else { return false }
    if take(UInt8(ascii: "]")) { return true }
    repeat {
      guard copyValue(depth: depth + 1) else { return false }
    } while take(UInt8(ascii: ","))
    return take(UInt8(ascii: "]"))
  }

  private mutating func copyValue(depth: Int) -> Bool {
    skipSpace()
    guard position < bytes.count, depth < Self.mostDepth else { return false }
    switch bytes[position] {
    case UInt8(ascii: "{"): return copyObject(depth: depth)
    case UInt8(ascii: "["): return copyArray(depth: depth)
    case UInt8(ascii: "\""): return skipString(isName: false)
    case UInt8(ascii: "t"): return skip("true")
    case UInt8(ascii: "f"): return skip("false")
    case UInt8(ascii: "n"): return skip("null")
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return skipNumber()
    default: return false
    }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    skipSpace()
    guard position < bytes.count, bytes[position] == byte else { return false }
    position += 1
    return true
  }

  private func isEqual(_ one: Range<Int>, _ other: Range<Int>) -> Bool {
    guard one.count == other.count, let start = bytes.baseAddress else { return false }
    return memcmp(start + one.lowerBound, start + other.lowerBound, one.count) == 0
  }

  private mutating func skip(_ word: StaticString) -> Bool {
    let count = word.utf8CodeUnitCount
    guard count <= bytes.count - position, let start = bytes.baseAddress,
      memcmp(start + position, word.utf8Start, count) == 0
    else { return false }
    position += count
    return true
  }

  /// A string without escapes: its text is written as it stands.
  private mutating func skipString(isName: Bool) -> Bool {
    guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else { return false }
    var end = position + 1
    while end < bytes.count {
      switch bytes[end] {
      case UInt8(ascii: "\""):
        position = end + 1
        return true
      case UInt8(ascii: "\\"), 0..<0x20, 0x7F: return false
      case 0x80...:
        if isName { return false }
        isASCII = false
        end += 1
      default: end += 1
      }
    }
    return false
  }

  private mutating func skipNumber() -> Bool {
    if bytes[position] == UInt8(ascii: "-") { position += 1 }
    if position < bytes.count, bytes[position] == UInt8(ascii: "0") {
      position += 1
    } else {
      guard skipDigits() else { return false }
    }
    if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
      position += 1
      guard skipDigits() else { return false }
    }
    guard position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") else { return true }
    position += 1
    if position < bytes.count, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-") {
      position += 1
    }
    return skipDigits()
  }

  private mutating func skipDigits() -> Bool {
    let start = position
    while position < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[position]) { position += 1 }
    return position > start
  }
}
