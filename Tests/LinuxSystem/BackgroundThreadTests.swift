import CSystem
import Foundation
import Glibc
import LinuxSystem
import TestFiles
import Testing

@Suite struct BackgroundThreadTests {
  @Test func aThreadRunsItsBodyUnderItsName() throws {
    let isOver = DispatchSemaphore(value: 0)
    let this = csystem_thread_id()
    try BackgroundThread.start("a name") {
      #expect(csystem_thread_id() != this)
      #expect(KernelFile.text("/proc/thread-self/comm") == "a name\n")
      isOver.signal()
    }
    #expect(isOver.wait(timeout: TestLimit.time) == .success)
  }
}
