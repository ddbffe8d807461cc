/// The parts that SHA-256 and SHA-512 share: both are one algorithm over words of a different width.
///
/// Source: FIPS 180-4, Secure Hash Standard. There is no CryptoKit on Linux, and version hashes need no more than this.
package protocol SHA2Variant {
  associatedtype Word: FixedWidthInteger & UnsignedInteger & Sendable

  /// The round constants: the first bits of the fractional parts of the cube roots of the first primes.
  static var roundConstants: [Word] { get }
  /// The hash before the first block: likewise, of the square roots.
  static var initialHash: [Word] { get }
  /// Σ0 and Σ1: three rotations each.
  static var bigSigma0: (Int, Int, Int) { get }
  static var bigSigma1: (Int, Int, Int) { get }
  /// σ0 and σ1: two rotations and a shift each.
  static var smallSigma0: (Int, Int, Int) { get }
  static var smallSigma1: (Int, Int, Int) { get }
}

/// An incremental hash: append data, then finish.
package struct SHA2<Variant: SHA2Variant> {
  package typealias Word = Variant.Word
  private static var wordSize: Int { Word.bitWidth / 8 }
  private static var blockSize: Int { 16 * wordSize }

  private var hash = Variant.initialHash
  private var pending: [UInt8] = []
  private var length = 0

  package init() {}

  /// The hash of some data.
  package static func hash(_ bytes: some Sequence<UInt8>) -> Data {
    var hasher = Self()
    hasher.append(bytes)
    return hasher.finish()
  }

  package mutating func append(_ bytes: some Sequence<UInt8>) {
    for byte in bytes {
      pending.append(byte)
      length += 1
      if pending.count == Self.blockSize {
        process(pending)
        pending.removeAll(keepingCapacity: true)
      }
    }
  }

  /// The hash of all appended data.
  package consuming func finish() -> Data {
    let bitCount = UInt64(length) * 8
    let lengthSize = 2 * Self.wordSize
    append([0x80])
    while pending.count != Self.blockSize - lengthSize {
      append([0])
    }
    append([UInt8](repeating: 0, count: lengthSize - 8))
    append((0..<8).map { UInt8(truncatingIfNeeded: bitCount >> UInt64(56 - 8 * $0)) })
    var result = Data()
    for word in hash {
      withUnsafeBytes(of: word.bigEndian) { result.append(contentsOf: $0) }
    }
    return result
  }

  private mutating func process(_ block: [UInt8]) {
    let constants = Variant.roundConstants
    var schedule: [Word] = (0..<16).map { position in
      block[(position * Self.wordSize)..<((position + 1) * Self.wordSize)].reduce(0) { $0 << 8 | Word($1) }
    }
    schedule.reserveCapacity(constants.count)
    for position in 16..<constants.count {
      let early = Self.small(schedule[position - 15], Variant.smallSigma0)
      let late = Self.small(schedule[position - 2], Variant.smallSigma1)
      schedule.append(schedule[position - 16] &+ early &+ schedule[position - 7] &+ late)
    }
    var (a, b, c, d) = (hash[0], hash[1], hash[2], hash[3])
    var (e, f, g, h) = (hash[4], hash[5], hash[6], hash[7])
    for position in 0..<constants.count {
      let choice = (e & f) ^ (~e & g)
      let first = h &+ Self.big(e, Variant.bigSigma1) &+ choice &+ constants[position] &+ schedule[position]
      let majority = (a & b) ^ (a & c) ^ (b & c)
      let second = Self.big(a, Variant.bigSigma0) &+ majority
      (h, g, f, e, d, c, b, a) = (g, f, e, d &+ first, c, b, a, first &+ second)
    }
    for (position, word) in [a, b, c, d, e, f, g, h].enumerated() {
      hash[position] &+= word
    }
  }

  private static func rotated(_ word: Word, _ count: Int) -> Word {
    word >> Word(count) | word << Word(Word.bitWidth - count)
  }

  private static func big(_ word: Word, _ counts: (Int, Int, Int)) -> Word {
    rotated(word, counts.0) ^ rotated(word, counts.1) ^ rotated(word, counts.2)
  }

  private static func small(_ word: Word, _ counts: (Int, Int, Int)) -> Word {
    rotated(word, counts.0) ^ rotated(word, counts.1) ^ word >> Word(counts.2)
  }
}

package typealias SHA256 = SHA2<SHA256Variant>
package typealias SHA512 = SHA2<SHA512Variant>

extension SHA2 where Variant == SHA256Variant {
  /// The hash of an array. Not generic, so that the compiler specialises all of it, also for other modules: these would
  /// run the generic code, and a job with unique parts would cost the intake 130 microseconds more.
  package static func hash(_ bytes: [UInt8]) -> Data {
    var hasher = Self()
    hasher.append(bytes)
    return hasher.finish()
  }
}
