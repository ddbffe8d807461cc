import Glibc

/// What error numbers mean, as in errno(3).
package enum ErrorNumber {
  /// What the number means. For a limit on open files also the limit, and where to raise it: a message that a store or
  /// a socket cannot be opened would let people look for the fault there.
  package static func text(_ number: Int32) -> String {
    let meaning = String(cString: strerror(number))
    switch number {
    case EMFILE:
      return "\(meaning): this process may have \(openFileLimit) open; raise the limit (`ulimit -n`, LimitNOFILE= of a "
        + "systemd unit)"
    case ENFILE: return "\(meaning): raise the machine's limit (fs.file-max of sysctl), or end programs"
    default: return meaning
    }
  }

  /// Whether it means that this process, or the machine, can have no further file open.
  package static func isOutOfDescriptors(_ number: Int32) -> Bool { number == EMFILE || number == ENFILE }

  /// How many files this process may have open (RLIMIT_NOFILE of getrlimit(2)).
  package static var openFileLimit: UInt64 {
    var limit = rlimit()
    return getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 ? UInt64(limit.rlim_cur) : 0
  }
}
