/// Writes binary property lists ("bplist00") with the references of keyed archives, which Foundation's writer lacks.
///
/// Equal strings and numbers are written once.
package struct BinaryPropertyListWriter {
  private enum Object {
    case bytes([UInt8])
    case array([Int])
    case dictionary(keys: [Int], values: [Int])
  }

  private var objects: [Object] = []
  private var scalarIndexes: [[UInt8]: Int] = [:]

  /// The file's contents.
  package static func data(_ root: PropertyListValue) -> Data {
    var writer = BinaryPropertyListWriter()
    let index = writer.add(root)
    return writer.file(root: index)
  }

  /// Adds an object after those it holds, and returns its place.
  private mutating func add(_ value: PropertyListValue) -> Int {
    switch value {
    case .null: return scalar([0x00])
    case .bool(let value): return scalar([value ? 0x09 : 0x08])
    case .integer(let value): return scalar(Self.integer(value))
    case .real(let value): return scalar([0x23] + Self.bytes(value.bitPattern, 8))
    case .reference(let index):
      return scalar([index < 256 ? 0x80 : 0x83] + Self.bytes(UInt64(index), index < 256 ? 1 : 4))
    case .data(let data): return scalar(Self.marker(0x4, data.count) + data)
    case .string(let text):
      if text.utf8.allSatisfy({ $0 < 128 }) { return scalar(Self.marker(0x5, text.utf8.count) + Array(text.utf8)) }
      let units = Array(text.utf16)
      return scalar(Self.marker(0x6, units.count) + units.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xff)] })
    case .array(let values):
      let members = values.map { add($0) }
      return append(.array(members))
    case .dictionary(let entries):
      let sorted = entries.sorted(on: { $0.key })
      let keys = sorted.map { add(.string($0.key)) }
      let values = sorted.map { add($0.value) }
      return append(.dictionary(keys: keys, values: values))
    }
  }

  private mutating func scalar(_ bytes: [UInt8]) -> Int {
    if let index = scalarIndexes[bytes] { return index }
    let index = append(.bytes(bytes))
    scalarIndexes[bytes] = index
    return index
  }

  private mutating func append(_ object: Object) -> Int {
    objects.append(object)
    return objects.count - 1
  }

  private func file(root: Int) -> Data {
    let referenceSize = objects.count <= 0xff ? 1 : objects.count <= 0xffff ? 2 : 4
    var file = Array("bplist00".utf8)
    func append(references: [Int]) {
      for index in references { Self.append(UInt64(index), referenceSize, to: &file) }
    }
    var offsets: [Int] = []
    for object in objects {
      offsets.append(file.count)
      switch object {
      case .bytes(let bytes): file += bytes
      case .array(let members):
        file += Self.marker(0xa, members.count)
        append(references: members)
      case .dictionary(let keys, let values):
        file += Self.marker(0xd, keys.count)
        append(references: keys)
        append(references: values)
      }
    }
    let table = file.count
    let offsetSize = table <= 0xff ? 1 : table <= 0xffff ? 2 : 4
    for offset in offsets { Self.append(UInt64(offset), offsetSize, to: &file) }
    file += [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(referenceSize)]
    for number in [objects.count, root, table] { Self.append(UInt64(number), 8, to: &file) }
    return Data(file)
  }

  /// The byte that says what an object is, with its size behind it if that does not fit.
  private static func marker(_ kind: UInt8, _ count: Int) -> [UInt8] {
    count < 0xf ? [kind << 4 | UInt8(count)] : [kind << 4 | 0xf] + integer(Int64(count))
  }

  private static func integer(_ value: Int64) -> [UInt8] {
    switch value {
    case 0...0xff: [0x10, UInt8(value)]
    case 0...0xffff: [0x11] + bytes(UInt64(value), 2)
    case 0...0xffff_ffff: [0x12] + bytes(UInt64(value), 4)
    default: [0x13] + bytes(UInt64(bitPattern: value), 8)
    }
  }

  private static func bytes(_ value: UInt64, _ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    append(value, count, to: &bytes)
    return bytes
  }

  /// A loop, since a debug build does not specialise `map`: models were written in half of the time with it.
  private static func append(_ value: UInt64, _ count: Int, to bytes: inout [UInt8]) {
    var shift = UInt64(8 * count)
    while shift > 0 {
      shift -= 8
      bytes.append(UInt8(truncatingIfNeeded: value &>> shift))
    }
  }
}
