/// A piece of a page. Text enters it escaped, and there is no other way in: names of elements and attributes are
/// literals of the source code, addresses are made of parts that are encoded one by one, and a style sheet is one of
/// this program's own.
struct HTML: Sendable {
  /// The markup.
  private(set) var markup: String

  /// Nothing.
  static let nothing = HTML(markup: "")

  private init(markup: String) { self.markup = markup }

  /// Text, in which no character is markup.
  init(_ text: String) {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count + 16)
    Self.escape(text, into: &bytes)
    markup = String(decoding: bytes, as: UTF8.self)
  }

  /// Pieces one after another.
  init(_ parts: [HTML]) { markup = parts.map(\.markup).joined() }

  /// An element.
  init(element name: StaticString, _ attributes: [Attribute], _ content: HTML) {
    var bytes = Array("<\(name)".utf8)
    for attribute in attributes {
      bytes += " \(attribute.name)".utf8
      guard let value = attribute.value else { continue }
      bytes += "=\"".utf8
      Self.escape(value, into: &bytes)
      bytes.append(UInt8(ascii: "\""))
    }
    bytes.append(UInt8(ascii: ">"))
    if !Self.voidElements.contains("\(name)") {
      bytes += content.markup.utf8
      bytes += "</\(name)>".utf8
    }
    markup = String(decoding: bytes, as: UTF8.self)
  }

  /// A style sheet of this program, which is not escaped: in it `>` is a combinator.
  init(stylesheet bytes: [UInt8]) { markup = "<style>\(String(decoding: bytes, as: UTF8.self))</style>" }

  /// A whole document.
  var document: String { Self.documentType + "\n" + markup }

  /// What every document begins with.
  static let documentType = "<!DOCTYPE html>"

  /// Elements without content and end tag.
  private static let voidElements: Set = ["input", "br", "meta", "link", "hr"]

  /// Characters that HTML does not allow become U+FFFD, and so do those that change the direction of the text after
  /// them: a name could show other names back to front.
  private static func escape(_ text: String, into bytes: inout [UInt8]) {
    // All of these begin with this byte; nearly no text has it.
    let text = text.utf8.contains(0xE2) ? inOneDirection(text) : text
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "&"): bytes += "&amp;".utf8
      case UInt8(ascii: "<"): bytes += "&lt;".utf8
      case UInt8(ascii: ">"): bytes += "&gt;".utf8
      case UInt8(ascii: "\""): bytes += "&quot;".utf8
      case UInt8(ascii: "'"): bytes += "&#39;".utf8
      case UInt8(ascii: "\n"), UInt8(ascii: "\t"): bytes.append(byte)
      case 0..<0x20, 0x7F: bytes += "\u{FFFD}".utf8
      default: bytes.append(byte)
      }
    }
  }
}

extension HTML {
  /// The text without embeddings, overrides and isolates (Unicode Standard Annex 9, "Directional Formatting
  /// Characters").
  private static func inOneDirection(_ text: String) -> String {
    var scalars = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      let isFormatting = (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
      scalars.append(isFormatting ? "\u{FFFD}" : scalar)
    }
    return String(scalars)
  }
}

/// An attribute of an element. Its name is a literal; attributes that lead somewhere take an ``Address`` only.
struct Attribute: Sendable {
  fileprivate let name: StaticString
  fileprivate let value: String?

  init(_ name: StaticString, _ value: String) {
    precondition(!Self.addresses.contains("\(name)"), "an address is made of parts")
    self.name = name
    self.value = value
  }

  /// An attribute that is there or not, such as `checked`.
  init(_ name: StaticString) {
    self.name = name
    value = nil
  }

  private init(_ name: StaticString, address: Address) {
    self.name = name
    value = address.text
  }

  private static let addresses: Set = ["href", "src", "action", "formaction", "srcdoc", "style"]

  static func href(_ address: Address) -> Attribute { Attribute("href", address: address) }
  static func src(_ address: Address) -> Attribute { Attribute("src", address: address) }
  static func action(_ address: Address) -> Attribute { Attribute("action", address: address) }
  static func `class`(_ names: String) -> Attribute { Attribute("class", names) }
  static func id(_ id: String) -> Attribute { Attribute("id", id) }
  static func name(_ name: String) -> Attribute { Attribute("name", name) }
  static func value(_ value: String) -> Attribute { Attribute("value", value) }
  static func type(_ type: String) -> Attribute { Attribute("type", type) }
  /// A number, as in SVG, with a tenth of a unit.
  static func number(_ name: StaticString, _ value: Double) -> Attribute {
    let tenths = Int((value * 10).rounded())
    let sign = tenths < 0 ? "-" : ""
    let lastDigit = abs(tenths) % 10
    return Attribute(name, "\(sign)\(abs(tenths) / 10)" + (lastDigit == 0 ? "" : ".\(lastDigit)"))
  }
}

/// An address on this server.
struct Address: Hashable, Sendable {
  /// The path and the query, encoded.
  let text: String

  /// - Parameters:
  ///   - path: the names of the path, none for the first page.
  ///   - query: the parameters; those without a value are left out.
  init(_ path: String..., query: KeyValuePairs<String, String?> = [:]) {
    self.init(path: path, query: query.map { ($0.key, $0.value) })
  }

  /// A place in the same page.
  init(fragment: StaticString) { text = "#\(fragment)" }

  init(path: [String], query: [(String, String?)]) {
    let pairs = query.compactMap { name, value in
      value.map { "\(Self.encoded(name))=\(Self.encoded($0))" }
    }
    text =
      "/" + path.map(Self.encoded).joined(separator: "/") + (pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&"))
  }

  /// Everything but the unreserved characters of RFC 3986 is percent-encoded.
  private static func encoded(_ text: String) -> String {
    var result = ""
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        result.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        let digits = String(byte, radix: 16, uppercase: true)
        result += byte < 16 ? "%0\(digits)" : "%\(digits)"
      }
    }
    return result
  }
}

/// Puts the pieces in a block's lines one after another; a string is text.
@resultBuilder enum HTMLBuilder {
  static func buildExpression(_ text: String) -> HTML { HTML(text) }
  static func buildExpression(_ html: HTML) -> HTML { html }
  static func buildExpression(_ parts: [HTML]) -> HTML { HTML(parts) }
  static func buildBlock(_ parts: HTML...) -> HTML { HTML(parts) }
  static func buildOptional(_ part: HTML?) -> HTML { part ?? .nothing }
  static func buildEither(first part: HTML) -> HTML { part }
  static func buildEither(second part: HTML) -> HTML { part }
  static func buildArray(_ parts: [HTML]) -> HTML { HTML(parts) }
}

/// An element with its attributes and content.
func tag(
  _ name: StaticString, _ attributes: Attribute..., @HTMLBuilder content: () -> HTML = { .nothing }
) -> HTML {
  HTML(element: name, attributes, content())
}

/// An element whose attributes are computed.
func tag(_ name: StaticString, with attributes: [Attribute], @HTMLBuilder content: () -> HTML = { .nothing }) -> HTML {
  HTML(element: name, attributes, content())
}

/// A link with a text.
func link(_ text: String, _ address: Address) -> HTML {
  HTML(element: "a", [.href(address)], HTML(text))
}
