/// The sixteen bytes of a `String`, which hold a short text itself.
///
/// ```text
/// byte  0 … 14   up to 15 bytes of UTF-8, the rest 0
/// byte 15        the count in the lower four bits, and flags: small, all ASCII
/// ```
///
/// Two such strings are equal texts if their two words are equal: `KeyTable` looks names of properties up by them,
/// without hashing characters. A longer text has a pointer there; its words are equal only to those of the same
/// storage, so a wrong hit cannot happen, only a miss.
///
/// Equal texts in different normal forms ("é" as one or two characters) have different bytes and are not found here;
/// the dictionary behind finds them.
///
/// Source: stdlib/public/core/SmallString.swift of Swift: on 64-bit platforms up to 15 bytes of UTF-8.
struct ShortText: Equatable {
  let first: UInt64
  let second: UInt64

  /// The most bytes of a text that a `String` holds itself.
  static let length = 15

  /// No text's bytes.
  init() { (first, second) = (0, 0) }

  /// The bytes of the string. They are those of its text if it was made of few bytes; any other string with the same
  /// bytes is the same text.
  ///
  /// No retain and no copy: two loads. A short text in a string with storage of its own has a pointer here and is not
  /// recognised; its look-up takes the dictionary.
  @inline(__always)
  init(bytesOf string: String) { (first, second) = unsafeBitCast(string, to: (UInt64, UInt64).self) }

  /// The text made of its own bytes, whatever storage the string came with. Nil for a longer text.
  ///
  /// Decoding a new string of few bytes always makes the small form.
  init?(copying string: String) {
    guard string.utf8.count <= ShortText.length else { return nil }
    self.init(bytesOf: String(decoding: Array(string.utf8), as: UTF8.self))
  }

  // MARK: The assumption

  /// Whether equal short texts have equal bytes, and others do not. `RuntimeAssumptions` asks once.
  ///
  /// The sample of fifteen letters is the longest that fits. Neither "größe" nor an empty text is ASCII of several
  /// bytes: both forms of the flags are seen.
  static func isReadable() -> Bool {
    let long = "fifteen letters"
    let samples = ["", "a", "b", "ab", "name", "größe", "fifteen letter", long, "Fifteen letters"]
    guard MemoryLayout<String>.size == 16 else { return false }
    return samples.allSatisfy { sample in
      let made = ShortText(copying: sample)
      // The same text, made in another way, and in a string with room for more.
      var grown = String(repeating: " ", count: 40)
      grown.removeAll(keepingCapacity: true)
      grown += sample
      return made != nil && made == ShortText(copying: grown)
        && samples.allSatisfy { (ShortText(copying: $0) == made) == ($0 == sample) }
    }
  }
}
