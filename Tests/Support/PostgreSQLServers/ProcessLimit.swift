import Foundation
import Glibc

extension Process {
  /// How long a program of a test may take, in seconds: far longer than any takes on the slowest machine.
  public static let testLimit = 900

  /// Waits until the program has ended, and kills it when it does not.
  ///
  /// A program that hangs must end its test, which then sees that it was killed, and not the run of all tests.
  public func waitUntilExit(within seconds: Int) {
    let limit = killLater(after: seconds)
    waitUntilExit()
    limit.cancel()
  }

  /// Kills the program after this many seconds. A test needs this when it reads the program's output to its end.
  ///
  /// - Returns: the work that kills the program. The test cancels it after the program's end.
  public func killLater(after seconds: Int = testLimit) -> DispatchWorkItem {
    let pid = processIdentifier
    let name = executableURL?.lastPathComponent ?? "a program"
    let words = ([name] + (arguments ?? [])).joined(separator: " ")
    let killing = DispatchWorkItem {
      FileHandle.standardError.write(Data("Killed, since it has not ended after \(seconds) s: \(words)\n".utf8))
      kill(pid, SIGKILL)
    }
    DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(seconds), execute: killing)
    return killing
  }
}
