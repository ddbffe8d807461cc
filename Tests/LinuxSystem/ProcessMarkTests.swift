import Foundation
import LinuxSystem
import Testing

@Suite struct ProcessMarkTests {
  /// Starts a shell that runs the command and waits for the end of its input.
  private func start(_ command: String, mark: ProcessMark?) throws -> (pid: pid_t, said: FileHandle, input: PipeEnds) {
    let (pipe, input) = (try PipeEnds(), try PipeEnds())
    var program = Program(path: "/bin/sh", arguments: ["-c", command], environment: ["PATH": "/usr/bin:/bin"])
    program.mark = mark
    let pid = try program.start(input: input.reading, output: pipe.writing, errors: pipe.writing)
    return (pid, FileHandle(fileDescriptor: dup(pipe.reading.number), closeOnDealloc: true), input)
  }

  @Test func aProcessPassesItsMarkOnThroughNewSessionsAndEmptyEnvironments() throws {
    let (mark, other) = (ProcessMark("one pool"), ProcessMark("another pool"))
    let shell = try start(
      // A shell gives background commands /dev/null for descriptor 0.
      "exec 3<&0; env -i setsid /bin/sh -c 'echo $$; read line' <&3 & cat >/dev/null; wait", mark: mark)
    defer { OwnChildren.end(shell.pid) }
    var text = ""
    while !text.hasSuffix("\n") {
      let part = shell.said.availableData
      try #require(!part.isEmpty, "the shell ended: \(text)")
      text += String(decoding: part, as: UTF8.self)
    }
    let descendant = try #require(pid_t(text.dropLast()))
    defer { kill(descendant, SIGKILL) }
    #expect(descendant != shell.pid && getsid(descendant) == descendant)
    #expect(mark.process(of: shell.pid) == shell.pid && mark.process(of: descendant) == shell.pid)
    #expect(other.process(of: shell.pid) == nil && mark.process(of: getpid()) == nil)
  }

  @Test func aProcessWithoutAMarkHasNone() throws {
    let shell = try start("echo started; read line", mark: nil)
    defer { OwnChildren.end(shell.pid) }
    #expect(!shell.said.availableData.isEmpty)
    #expect(ProcessMark("one pool").process(of: shell.pid) == nil)
  }

  @Test func aProcessThatIsGoneHasNone() { #expect(ProcessMark("one pool").process(of: pid_t.max) == nil) }
}
