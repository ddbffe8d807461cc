import Glibc
import Testing

@testable import LinuxSystem

@Suite struct ProcessResourcesTests {
  @Test func aNumberIsFoundByItsName() {
    let text = "rchar: 4\nread_bytes: 8192\nVmHWM:\t   1234 kB\nempty:\n"
    #expect(ProcFile.number("read_bytes:", in: text) == 8192)
    #expect(ProcFile.number("VmHWM:", in: text) == 1234)
    #expect(ProcFile.number("empty:", in: text) == nil)
    #expect(ProcFile.number("write_bytes:", in: text) == nil)
  }

  @Test func aProcessIsMeasuredAndOneThatIsNotThereIsNot() throws {
    let before = try #require(ProcessResources(of: getpid()))
    let after = try #require(ProcessResources(of: getpid()))
    #expect(before.processorSeconds > 0 && after.processorSeconds >= before.processorSeconds)
    let moment = try #require(ProcessMoment(of: getpid()))
    let tree = try #require(ProcessTree(of: getpid()))
    #expect(tree.seconds >= before.processorSeconds && tree.own >= moment.seconds && tree.date >= moment.date)
    // Above PID_MAX_LIMIT, and low enough for the number of a clock.
    let nobody: Int32 = 1 << 22 | 1
    #expect(ProcessTree(of: nobody) == nil && ProcessMoment(of: nobody) == nil)
    #expect(ProcessUsage.peakBytes(of: getpid()) ?? 0 > 1 << 20)
    #expect(ProcessResources(of: Int32.max) == nil)
    #expect(ProcessUsage.peakBytes(of: Int32.max) == nil)
  }

  @Test func whatTheKernelTellsAtTheEndIsReadInItsUnits() {
    var usage = rusage()
    usage.ru_utime = timeval(tv_sec: 1, tv_usec: 500_000)
    usage.ru_stime = timeval(tv_sec: 0, tv_usec: 250_000)
    (usage.ru_inblock, usage.ru_oublock) = (2, 4)
    let resources = ProcessResources(of: usage)
    #expect(resources.processorSeconds == 1.75)
    #expect(resources.bytesRead == 1024 && resources.bytesWritten == 2048)
  }

  @Test func aFrameShowsTheNameOfItsFunctionForPeople() {
    #expect(StackFrame.demangled("  at $s1t5hangsyyF + 21") == "  at t.hangs() -> () + 21")
    for line in ["  at main + 16", "thread 7 (jobs):", "  at ", "  at  + ", "$s1t5hangsyyF + 21", ""] {
      #expect(StackFrame.demangled(line) == line)
    }
  }
}
