import Foundation
import Synchronization
import WorkerKit

/// What happens to a test's workers at the fault points that they pass, as the environment says; once, in all processes
/// of a test.
enum Fault {
  /// Kill the process at the n-th point that it passes.
  static let numberVariable = "TEST_WORKER_FAULT"
  /// Tell of the point of this name, and wait there: see ``Stop``.
  static let stopVariable = "TEST_WORKER_STOP"
  /// The file that says that it has happened, and where.
  static let markVariable = "TEST_WORKER_FAULT_MARK"

  private static let passed = Atomic<Int>(0)

  static func arm() {
    let environment = ProcessInfo.processInfo.environment
    guard let mark = environment[markVariable] else { return }
    if let number = environment[numberVariable].flatMap(Int.init) {
      FaultPoint.setHandler { point in
        guard passed.add(1, ordering: .relaxed).newValue == number, isFirst(point, mark) else { return }
        kill(getpid(), SIGKILL)
      }
    } else if let name = environment[stopVariable] {
      FaultPoint.setHandler { point in
        guard point.rawValue == name, isFirst(point, mark) else { return }
        Stop.wait(at: mark)
      }
    }
  }

  private static func isFirst(_ point: FaultPoint, _ mark: String) -> Bool {
    let descriptor = open(mark, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return false }
    let text = Array(point.rawValue.utf8)
    _ = write(descriptor, text, text.count)
    close(descriptor)
    return true
  }
}

/// A place at which a process tells a test that it has come there, and waits until the test lets it go: two named
/// pipes.
enum Stop {
  /// Writes the process ID to `PATH.arrived`.
  static func tell(_ path: String, of pid: pid_t = getpid()) {
    let arrived = open(path + ".arrived", O_WRONLY | O_CLOEXEC)
    let text = Array("\(pid)\n".utf8)
    _ = write(arrived, text, text.count)
    close(arrived)
  }

  /// Writes the process ID to `PATH.arrived`, and reads from `PATH.go`.
  static func wait(at path: String) {
    tell(path)
    let go = open(path + ".go", O_RDONLY | O_CLOEXEC)
    var byte: UInt8 = 0
    while read(go, &byte, 1) < 0, errno == EINTR {}
    close(go)
  }
}
