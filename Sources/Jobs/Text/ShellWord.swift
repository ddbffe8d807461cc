/// Quotes words for commands that people paste into a shell.
package enum ShellWord {
  /// The text as one word for a POSIX shell: as it is, or in single quotes, in which only the quote itself means
  /// something.
  ///
  /// ```text
  /// p17              p17
  /// my file          'my file'
  /// it's             'it'\''s'
  /// ```
  package static func quoted(_ text: String) -> String {
    let isPlain = !text.isEmpty && text.utf8.allSatisfy { plain.contains($0) }
    return isPlain ? text : "'" + text.replacing("'", with: #"'\''"#) + "'"
  }

  /// A `~` has a meaning at the beginning of a word, and is quoted everywhere.
  private static let plain = Set(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%".utf8)
}
