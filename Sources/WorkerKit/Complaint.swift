import Glibc

/// Writes a line to standard error, which the pool shows as the reason of what happens next. A dead pool reads nothing:
/// errors are ignored.
func complain(_ text: String) {
  let line = Array("\(text)\n".utf8)
  _ = write(STDERR_FILENO, line, line.count)
}
