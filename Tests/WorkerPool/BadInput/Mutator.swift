import TestFiles

/// Makes slightly wrong texts out of right ones, the same ones each time.
struct Mutator {
  private var random: SeededGenerator

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  /// What means something to a parser somewhere.
  private static let pieces: [[UInt8]] =
    [
      "\"", "{", "}", "[", "]", ":", ",", "\\", "\n", "\r", "\0", " ", "  ", "null", "true", "-", "1e999", "0x10",
      "99999999999999999999", "-0", "\\ud800", "\\u0000", "x-coredata://", "../../etc/passwd", "\u{1B}[2J", "\u{202E}",
    ].map { Array($0.utf8) } + [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xEF, 0xBB, 0xBF]]

  /// The bytes with one to four changes.
  mutating func mutated(_ original: [UInt8]) -> [UInt8] {
    var bytes = original
    for _ in 0...Int.random(in: 0..<4, using: &random) {
      let place = Int.random(in: 0...bytes.count, using: &random)
      let end = min(bytes.count, place + Int.random(in: 0...8, using: &random))
      switch Int.random(in: 0..<7, using: &random) {
      case 0 where place < bytes.count: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 1 where place < bytes.count: bytes[place] = .random(in: 0...255, using: &random)
      case 2: bytes.removeSubrange(place..<end)
      case 3: bytes.insert(contentsOf: bytes[place..<end], at: place)
      case 4: bytes.insert(contentsOf: Self.pieces.randomElement(using: &random) ?? [], at: place)
      case 5: bytes.removeSubrange(place...)
      default: bytes.insert(contentsOf: (0..<3).map { _ in UInt8.random(in: 0...255, using: &random) }, at: place)
      }
    }
    return bytes
  }
}
