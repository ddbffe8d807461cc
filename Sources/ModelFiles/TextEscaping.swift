extension String {
  /// The text with escapes in place of the characters for which there is one.
  package func escaped(_ escape: (Unicode.Scalar) -> String?) -> String {
    var escaped = ""
    for scalar in unicodeScalars {
      if let escape = escape(scalar) { escaped += escape } else { escaped.unicodeScalars.append(scalar) }
    }
    return escaped
  }

  /// The escape of a character that has a meaning in the text of an XML element.
  package static func xmlEscape(_ scalar: Unicode.Scalar) -> String? {
    switch scalar {
    case "&": "&amp;"
    case "<": "&lt;"
    case ">": "&gt;"
    // A parser turns a literal carriage return into a line feed.
    case "\r": "&#13;"
    default: nil
    }
  }
}
