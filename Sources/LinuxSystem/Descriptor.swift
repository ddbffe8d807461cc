import CSystem
import Glibc

/// A descriptor that this process owns: it is closed when nothing refers to this object any more.
package final class Descriptor: Sendable {
  package let number: Int32

  /// Takes over the descriptor that a system call returned.
  ///
  /// - Throws: the error in `errno` when the result is not a descriptor.
  package init(_ result: Int32, _ call: String, path: String? = nil) throws(SystemCallError) {
    guard result >= 0 else { throw SystemCallError(call, path: path) }
    number = result
  }

  deinit { close(number) }

  /// Becomes readable when the process ends. Source: pidfd_open(2).
  package static func ofProcess(_ pid: pid_t) throws(SystemCallError) -> Descriptor {
    try Descriptor(csystem_pidfd_open(pid), "pidfd_open")
  }

  package func makeNonBlocking() throws(SystemCallError) {
    guard csystem_set_nonblocking(number) == 0 else { throw SystemCallError("fcntl") }
  }
}

/// The two ends of a new pipe, close-on-exec.
package struct PipeEnds {
  package let reading: Descriptor
  package let writing: Descriptor

  package init() throws(SystemCallError) {
    var ends: [Int32] = [-1, -1]
    guard csystem_pipe(&ends) == 0 else { throw SystemCallError("pipe2") }
    reading = try Descriptor(ends[0], "pipe2")
    writing = try Descriptor(ends[1], "pipe2")
  }
}
