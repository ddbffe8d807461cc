/// The form of names outside ASCII in symbols.
///
/// Source: RFC 3492, with the digits a to z and A to J and the delimiter `_`, as in Swift's
/// lib/Demangling/Punycode.cpp.
enum Punycode {
  private static let base = 36

  static func encoded(_ text: String) -> String {
    let scalars = text.unicodeScalars.map { Int($0.value) }
    var output = scalars.filter { $0 < 0x80 }.map { Character(UnicodeScalar(UInt8($0))) }
    let basic = output.count
    if basic > 0 { output.append("_") }
    var (n, delta, bias, handled) = (0x80, 0, 72, basic)
    while handled < scalars.count {
      let next = scalars.filter { $0 >= n }.min() ?? n
      delta += (next - n) * (handled + 1)
      n = next
      for scalar in scalars {
        if scalar < n { delta += 1 }
        guard scalar == n else { continue }
        var remainingDelta = delta
        var position = base
        while true {
          let threshold = position <= bias ? 1 : position >= bias + 26 ? 26 : position - bias
          if remainingDelta < threshold { break }
          output.append(digit(threshold + (remainingDelta - threshold) % (base - threshold)))
          remainingDelta = (remainingDelta - threshold) / (base - threshold)
          position += base
        }
        output.append(digit(remainingDelta))
        bias = adapted(delta, handled + 1, isFirst: handled == basic)
        delta = 0
        handled += 1
      }
      delta += 1
      n += 1
    }
    return String(output)
  }

  private static func digit(_ value: Int) -> Character {
    Character(UnicodeScalar(value < 26 ? UInt8(ascii: "a") + UInt8(value) : UInt8(ascii: "A") + UInt8(value - 26)))
  }

  private static func adapted(_ delta: Int, _ count: Int, isFirst: Bool) -> Int {
    var delta = isFirst ? delta / 700 : delta / 2
    delta += delta / count
    var position = 0
    while delta > (base - 1) * 26 / 2 {
      delta /= base - 1
      position += base
    }
    return position + base * delta / (delta + 38)
  }
}
