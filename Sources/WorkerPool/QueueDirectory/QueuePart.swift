/// The directories in a queue directory that the pool holds open, and that others may replace while it runs.
enum QueuePart: String, Sendable {
  case incoming, taken, rejected, periodic
}
