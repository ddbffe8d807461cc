import Foundation

/// The hash in the symbols of private declarations, by which Swift distinguishes equal names in different files.
///
/// Source: RFC 1321.
enum MD5 {
  private static let shifts: [UInt32] = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21]
  private static let constants: [UInt32] = (0..<64).map { UInt32(abs(sin(Double($0 + 1))) * 4_294_967_296) }

  /// The hash as capital hexadecimal digits.
  static func text(_ message: [UInt8]) -> String {
    var state: [UInt32] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476]
    var padded = message + [0x80]
    while padded.count % 64 != 56 { padded.append(0) }
    padded += withUnsafeBytes(of: UInt64(message.count * 8).littleEndian) { Array($0) }
    for block in stride(from: 0, to: padded.count, by: 64) {
      let words = padded.withUnsafeBytes { bytes in
        (0..<16).map { UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: block + $0 * 4, as: UInt32.self)) }
      }
      var (a, b, c, d) = (state[0], state[1], state[2], state[3])
      for step in 0..<64 {
        let (mixed, word): (UInt32, Int) =
          switch step / 16 {
          case 0: ((b & c) | (~b & d), step)
          case 1: ((d & b) | (~d & c), (5 * step + 1) % 16)
          case 2: (b ^ c ^ d, (3 * step + 5) % 16)
          default: (c ^ (b | ~d), 7 * step % 16)
          }
        let sum = a &+ mixed &+ constants[step] &+ words[word]
        let shift = shifts[step / 16 * 4 + step % 4]
        (a, d, c, b) = (d, c, b, b &+ (sum << shift | sum >> (32 - shift)))
      }
      state = zip(state, [a, b, c, d]).map { $0 &+ $1 }
    }
    let bytes: [UInt8] = state.map(\.littleEndian).withUnsafeBytes { Array($0) }
    return bytes.map { String($0 >> 4, radix: 16, uppercase: true) + String($0 & 15, radix: 16, uppercase: true) }
      .joined()
  }
}
