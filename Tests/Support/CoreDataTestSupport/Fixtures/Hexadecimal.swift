import Foundation

extension Data {
  /// Two digits for each byte.
  package var hexadecimal: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}
