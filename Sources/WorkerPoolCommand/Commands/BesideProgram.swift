import Foundation
import Glibc
import LinuxSystem

/// A program that is installed beside `workerpool`.
enum BesideProgram {
  /// Turns this process into it. Returns only by an error.
  static func become(_ name: String, _ arguments: [String]) throws -> Never {
    let ownPath = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let program = URL(fileURLWithPath: ownPath).deletingLastPathComponent().appendingPathComponent(name).path
    var list = ([program] + arguments).map { strdup($0) } + [nil]
    execv(program, &list)
    let error = SystemCallError("execv")
    throw FileError(path: program, action: "be run", errno: error.number)
  }
}
