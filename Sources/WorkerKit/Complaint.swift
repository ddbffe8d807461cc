import Glibc

/// Writes a line to standard error, where the pool finds the reason of what happens next. Nothing reads the output of a
/// worker whose pool is dead: errors are ignored.
func complain(_ text: String) {
  let line = Array("\(text)\n".utf8)
  _ = write(STDERR_FILENO, line, line.count)
}
