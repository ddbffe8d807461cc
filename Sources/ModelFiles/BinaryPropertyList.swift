/// A value of a binary property list. Unlike Foundation's reader it shows the references (UID) of keyed archives.
package indirect enum PropertyListValue {
  case null
  case bool(Bool)
  case integer(Int64)
  case real(Double)
  case string(String)
  case data(Data)
  case array([PropertyListValue])
  case dictionary([String: PropertyListValue])
  /// The index of an object in a keyed archive's "$objects".
  case reference(Int)
}

/// Reads binary property lists ("bplist00").
///
/// Layout: header, objects, a table of object offsets, and a trailer of 32 bytes that gives the table's place. An
/// object begins with a byte: the high half is the kind, the low half a size.
package struct BinaryPropertyList {
  private let bytes: [UInt8]
  private let offsetSize: Int
  private let referenceSize: Int
  private let tableOffset: Int
  private let objectCount: Int
  private let rootIndex: Int
  private let visits: Visits

  /// How many values may be read. Each reference to an object takes a byte at least, so a list that holds more contains
  /// the same containers again and again.
  private final class Visits {
    var remainingCount: Int
    init(_ remainingCount: Int) { self.remainingCount = remainingCount }
  }

  package init(_ data: Data) throws(ModelElementsError) {
    bytes = Array(data)
    visits = Visits(4 * bytes.count + 1024)
    guard bytes.count >= 40, bytes.starts(with: Array("bplist00".utf8)) else {
      throw ModelElementsError("is not a binary property list")
    }
    let trailer = bytes.count - 32
    offsetSize = Int(bytes[trailer + 6])
    referenceSize = Int(bytes[trailer + 7])
    objectCount = Self.integer(bytes[(trailer + 8)..<(trailer + 16)])
    rootIndex = Self.integer(bytes[(trailer + 16)..<(trailer + 24)])
    tableOffset = Self.integer(bytes[(trailer + 24)..<(trailer + 32)])
    guard (1...8).contains(offsetSize), (1...8).contains(referenceSize), objectCount <= bytes.count,
      tableOffset <= trailer, objectCount * offsetSize <= trailer - tableOffset
    else { throw Self.damaged }
  }

  package func root() throws(ModelElementsError) -> PropertyListValue {
    try object(rootIndex, depth: 0)
  }

  /// Whether one of the objects is a set. Property lists that programs write have none.
  package func hasSets() throws(ModelElementsError) -> Bool {
    for index in 0..<objectCount {
      let start = Self.integer(try slice(tableOffset + index * offsetSize, offsetSize))
      guard let marker = try slice(start, 1).first else { throw Self.damaged }
      if marker >> 4 == 0xB || marker >> 4 == 0xC { return true }
    }
    return false
  }

  private static let damaged = ModelElementsError("is a damaged property list")

  /// Archives are flat, since their objects refer to each other by UID. Real ones nest a few levels deep.
  private static let maximumDepth = 64

  private static func integer(_ bytes: ArraySlice<UInt8>) -> Int {
    Int(truncatingIfNeeded: bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } & UInt64(Int.max))
  }

  private func slice(_ start: Int, _ count: Int) throws(ModelElementsError) -> ArraySlice<UInt8> {
    guard start >= 0, count >= 0, start <= bytes.count, count <= bytes.count - start else { throw Self.damaged }
    return bytes[start..<(start + count)]
  }

  private func object(_ index: Int, depth: Int) throws(ModelElementsError) -> PropertyListValue {
    visits.remainingCount -= 1
    guard index < objectCount, depth < Self.maximumDepth, visits.remainingCount > 0 else { throw Self.damaged }
    let start = Self.integer(try slice(tableOffset + index * offsetSize, offsetSize))
    guard let marker = try slice(start, 1).first else { throw Self.damaged }
    let low = Int(marker & 0x0f)
    switch marker >> 4 {
    case 0x0:
      return low == 8 ? .bool(false) : low == 9 ? .bool(true) : .null
    case 0x1:
      let raw = try slice(start + 1, 1 << low).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      return .integer(Int64(bitPattern: raw))
    case 0x2:
      let raw = try slice(start + 1, 1 << low).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      return .real(low == 2 ? Double(Float(bitPattern: UInt32(truncatingIfNeeded: raw))) : Double(bitPattern: raw))
    case 0x3:
      return .real(Double(bitPattern: try slice(start + 1, 8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }))
    case 0x8:
      return .reference(Self.integer(try slice(start + 1, low + 1)))
    default:
      return try sizedObject(kind: marker >> 4, start: start, low: low, depth: depth)
    }
  }

  private func sizedObject(
    kind: UInt8, start: Int, low: Int, depth: Int
  ) throws(ModelElementsError) -> PropertyListValue {
    var count = low
    var body = start + 1
    if low == 0x0f {
      // The size does not fit into the marker: an integer object with the size follows.
      guard let marker = try slice(body, 1).first, marker >> 4 == 1 else { throw Self.damaged }
      let size = 1 << Int(marker & 0x0f)
      count = Self.integer(try slice(body + 1, size))
      body += 1 + size
    }
    guard count <= bytes.count else { throw Self.damaged }
    switch kind {
    case 0x4: return .data(Data(try slice(body, count)))
    case 0x5: return .string(String(decoding: try slice(body, count), as: UTF8.self))
    case 0x6:
      let text = Array(try slice(body, 2 * count))
      let units = stride(from: 0, to: text.count, by: 2).map { UInt16(text[$0]) << 8 | UInt16(text[$0 + 1]) }
      return .string(String(decoding: units, as: UTF16.self))
    case 0xa, 0xc:
      return .array(try objects(at: body, count, depth: depth))
    case 0xd:
      let keys = try objects(at: body, count, depth: depth)
      let values = try objects(at: body + count * referenceSize, count, depth: depth)
      var dictionary: [String: PropertyListValue] = [:]
      for case (.string(let key), let value) in zip(keys, values) {
        // Readers differ in which of two values they take. What is checked here must be what another one decodes.
        guard dictionary.updateValue(value, forKey: key) == nil else { throw Self.damaged }
      }
      return .dictionary(dictionary)
    default: throw Self.damaged
    }
  }

  private func objects(
    at start: Int, _ count: Int, depth: Int
  ) throws(ModelElementsError) -> [PropertyListValue] {
    var values: [PropertyListValue] = []
    for position in 0..<count {
      let index = Self.integer(try slice(start + position * referenceSize, referenceSize))
      values.append(try object(index, depth: depth + 1))
    }
    return values
  }
}
