/// A text that is compared byte by byte, as in the store's indexes.
///
/// Two `String`s are also equal when they only look alike: "\u{e9}" and "e\u{301}". A unique index takes them for two;
/// so what decides here before a save must do so, too.
struct ExactText: Hashable {
  let text: String

  init(_ text: String) { self.text = text }

  static func == (one: ExactText, other: ExactText) -> Bool { one.text.utf8.elementsEqual(other.text.utf8) }

  func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}
