import Foundation
import TestFiles
import Testing

@testable import LinuxSystem

@Suite struct KernelFileTests {
  /// The kernel hands out this list a page at a time.
  @Test func aListOfLocksThatIsLongerThanAPageIsReadWhole() throws {
    let path = temporaryURL("locks").path
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    try #require(descriptor >= 0)
    defer {
      close(descriptor)
      unlink(path)
    }
    var status = stat()
    try #require(fstat(descriptor, &status) == 0)
    let count = 300
    for number in 0..<count {
      // Locks that touch would become one.
      var lock = flock(
        l_type: Int16(F_WRLCK), l_whence: Int16(SEEK_SET), l_start: 2 * number, l_len: 1, l_pid: 0)
      try #require(fcntl(descriptor, F_SETLK, &lock) == 0)
    }
    // Locks of others that come or go between two pages repeat or hide some that stay.
    let counts = (0..<10).map { _ in
      let lines = KernelFile.text("/proc/locks")?.split(separator: "\n") ?? []
      return Set(lines.filter { $0.contains(":\(status.st_ino) ") }.map { $0.split(separator: " ").suffix(2) }).count
    }
    #expect(counts.max() == count, "\(counts)")
  }

  @Test func aFileThatIsNotThereIsNil() {
    #expect(KernelFile.bytes("/proc/self/no-such-file") == nil)
    #expect(KernelFile.text("/proc/self/comm")?.hasSuffix("\n") == true)
  }
}
