import Glibc

/// Signals by name, and those that mean nothing to a pool.
enum SignalName {
  /// Signals that a pool ignores, and that would end it otherwise. SIGXFSZ is among them: a write beyond the limit of a
  /// file's size then fails with an error, which the pool tells.
  static let meaningless: [Int32] = named.map(\.number) + realTime

  private static let named: [(number: Int32, name: String)] = [
    (SIGUSR1, "SIGUSR1"), (SIGUSR2, "SIGUSR2"), (SIGALRM, "SIGALRM"), (SIGVTALRM, "SIGVTALRM"), (SIGPROF, "SIGPROF"),
    (SIGIO, "SIGIO"), (SIGPWR, "SIGPWR"), (SIGXCPU, "SIGXCPU"), (SIGXFSZ, "SIGXFSZ"), (SIGSTKFLT, "SIGSTKFLT"),
  ]

  /// The C library keeps the two before for itself (signal(7)).
  private static let realTime = Array(Int32(34)...64)

  /// What a pool says of a signal without a meaning.
  static func ignored(_ signal: Int32) -> String {
    let name = named.first { $0.number == signal }?.name ?? "signal \(signal)"
    return "\(name) means nothing to a pool and is ignored; the signals that it obeys: workerpool run --help"
  }
}
