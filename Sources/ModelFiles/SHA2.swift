/// What differs between SHA-256 and SHA-512: the width of a word, and with it the numbers.
///
/// Each variant processes a block by code of its own, about one type of integer: generic code takes seven times as long
/// in a debug build, where tests spent up to 60 % of their time on the hashes of their models. For the same reason the
/// loops are written with `while`: a range's iterator is generic, too.
///
/// Source: FIPS 180-4, Secure Hash Standard. There is no CryptoKit on Linux, and version hashes need no more than this.
package protocol SHA2Variant {
  associatedtype Word: FixedWidthInteger & UnsignedInteger & Sendable

  /// The hash before the first block: the first bits of the fractional parts of the square roots of the first primes.
  static var initialHash: [Word] { get }

  /// Adds a block of 16 words to the hash (FIPS 180-4, sections 6.2.2 and 6.4.2).
  static func process(_ block: UnsafePointer<UInt8>, into hash: inout [Word])
}

/// An incremental hash: append data, then finish.
package struct SHA2<Variant: SHA2Variant> {
  package typealias Word = Variant.Word
  private static var wordSize: Int { Word.bitWidth / 8 }
  private static var blockSize: Int { 16 * wordSize }

  private var hash = Variant.initialHash
  private var pending: [UInt8] = []
  /// Bytes of the blocks that are in the hash already.
  private var processedCount = 0

  package init() {}

  /// The hash of some data.
  package static func hash(_ bytes: some Sequence<UInt8>) -> Data {
    var hasher = Self()
    hasher.append(bytes)
    return hasher.finish()
  }

  package mutating func append(_ bytes: some Sequence<UInt8>) {
    pending.append(contentsOf: bytes)
    processBlocks()
  }

  /// The hash of all appended data.
  package consuming func finish() -> Data {
    let bitCount = UInt64(processedCount + pending.count) * 8
    pending.append(0x80)
    // The length takes two words at a block's end, of which eight bytes are enough here.
    let missing = (2 * Self.blockSize - 8 - pending.count) % Self.blockSize
    let reserved = 2 * Self.wordSize - 8
    pending += [UInt8](repeating: 0, count: missing < reserved ? missing + Self.blockSize : missing)
    withUnsafeBytes(of: bitCount.bigEndian) { pending += Array($0) }
    processBlocks()
    return hash.map(\.bigEndian).withUnsafeBytes { Data($0) }
  }

  private mutating func processBlocks() {
    let size = pending.count - pending.count % Self.blockSize
    guard size > 0 else { return }
    pending.withUnsafeBufferPointer { bytes in
      guard let start = bytes.baseAddress else { return }
      for place in stride(from: 0, to: size, by: Self.blockSize) { Variant.process(start + place, into: &hash) }
    }
    pending.removeFirst(size)
    processedCount += size
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
