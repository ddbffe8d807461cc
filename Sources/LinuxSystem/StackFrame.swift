import CSystem
import Foundation
import Glibc

/// Where threads are, as lines of text.
///
/// All calls of `CStacks.h` stand in this file: each object file has its own copy of the variables there.
package enum StackFrame {
  /// How the line of a frame begins whose function is known. Source: `csystem_frame_line`.
  package static let start = "  at "
  /// Bytes of a thread's stack that are kept.
  private static let longest = 8192

  /// From now on a signal makes each thread print its stack to standard error, and ``lines(ofThread:)`` works. Called
  /// before there is a second thread.
  package static func printStacks(on signal: Int32) throws(SystemCallError) {
    guard csystem_print_stacks_on(signal) == 0 else { throw SystemCallError("sigaction") }
  }

  /// The stack of another thread of this process, innermost function first; empty if the thread does not answer. Takes
  /// up to a fifth of a second, and interrupts a system call in which the thread waits: some calls then fail with EINTR
  /// (signal(7)).
  ///
  /// One call at a time, after ``printStacks(on:)``.
  package static func lines(ofThread thread: pid_t) -> [String] {
    var text = [CChar](repeating: 0, count: longest)
    let count = Int(csystem_stack_of(thread, &text, Int32(longest)))
    let bytes = text[..<count].map { UInt8(bitPattern: $0) }
    return bytes.split(separator: 0x0A).map { demangled(String(decoding: $0, as: UTF8.self)) }
  }

  /// The line with the name of its Swift function for people; another line as it is.
  ///
  /// Not for the pool and other servers: a short name that a worker has made up can stand for one of any length.
  package static func demangled(_ line: String) -> String {
    guard line.hasPrefix(start), let end = line.range(of: " + ", options: .backwards)?.lowerBound else { return line }
    let name = line[line.index(line.startIndex, offsetBy: start.count)..<end]
    guard let demangled = swift_demangle(String(name), name.utf8.count, nil, nil, 0) else { return line }
    defer { free(demangled) }
    return start + String(cString: demangled) + line[end...]
  }
}
