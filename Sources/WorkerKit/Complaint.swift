import Glibc

/// Writes a line to standard error, which the pool shows as the reason of what happens next. When the pool has died nobody reads it, and
/// that is no reason to die, too.
func complain(_ text: String) {
  let line = Array("\(text)\n".utf8)
  _ = write(STDERR_FILENO, line, line.count)
}
