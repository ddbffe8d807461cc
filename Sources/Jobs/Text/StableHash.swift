/// A number for a text that is the same in every process, on every machine. `Hasher` has another seed in each process.
///
/// It makes the keys of advisory locks and the numbers of batches without jobs; it does not protect against texts that
/// an attacker has chosen.
package enum StableHash {
  /// FNV-1a in 64 bits. Source: RFC 9923.
  package static func of(_ text: String) -> UInt64 {
    text.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }
}
