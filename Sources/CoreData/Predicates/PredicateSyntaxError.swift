/// The reason why a predicate's text is invalid, and the place: what `NSPredicate.parse(format:arguments:)` throws.
/// `NSPredicate(format:)` traps with its description instead.
///
/// ```swift
/// let text = "pages >"
/// do {
///   let predicate = try NSPredicate.parse(format: text)
///   print(predicate.canonicalFormat)
/// } catch let error as PredicateSyntaxError {
///   print(error.message)  // Expected a key path, a value or "("
///   print(String(repeating: " ", count: error.position) + "^")
/// }
/// ```
///
/// It has the text, but no values of arguments. Not part of Apple's API, where an exception ends the process.
public struct PredicateSyntaxError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The text that was parsed, as a whole.
  public let format: String

  /// The place where parsing stopped, in characters from the start; 0 for the first.
  ///
  /// Characters are Swift's, so a user interface can mark the place in the text as it shows it.
  public let position: Int

  /// What is wrong, or what was expected, without the position.
  public let message: String

  /// The message, the position counted from 1, and the text there.
  public var description: String {
    let remainingText = format.dropFirst(position)
    let place =
      remainingText.isEmpty ? "at the end" : "at column \(position + 1), before \"\(remainingText.prefix(20))\""
    return "\(message) \(place) of the predicate \"\(format)\""
  }

  init(format: String, position: Int, message: String) {
    self.format = format
    self.position = position
    self.message = message
  }

  /// An error at a position in Unicode scalars.
  init(format: String, scalar position: Int, message: String) {
    self.init(format: format, position: String(format.unicodeScalars.prefix(position)).count, message: message)
  }
}
