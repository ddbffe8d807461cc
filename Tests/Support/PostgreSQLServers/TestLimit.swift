import Foundation
import Glibc

/// How long a test waits for anything: far longer than it takes on the slowest machine, and shorter than the limit of a
/// test.
///
/// A test that waits less fails where the machine, or the tests' process, stands still for a minute or two.
public enum TestLimit {
  /// In seconds.
  public static let seconds = 900

  /// As long from now.
  public static var time: DispatchTime { .now() + .seconds(seconds) }
}

extension Process {
  /// Sends a signal, unless the program has ended: its number may be that of another process or thread by then.
  public func send(_ signal: Int32) { if isRunning { kill(processIdentifier, signal) } }

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
  public func killLater(after seconds: Int = TestLimit.seconds) -> DispatchWorkItem {
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
