import CSystem
import Foundation
import LinuxSystem
import TestFiles
import Testing

@Suite struct ProgramTests {
  /// All that comes through a pipe until its last writer is gone.
  private func text(_ end: Descriptor) -> String {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4096)
    while case let count = read(end.number, &chunk, chunk.count), count > 0 { bytes += chunk[..<count] }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Starts a script; what it writes, and its status.
  private func run(_ script: String, _ change: (inout Program) -> Void = { _ in }) throws -> (String, Int32) {
    var program = Program(
      path: "/bin/sh", arguments: ["-c", script], environment: ["PATH": "/usr/bin:/bin", "A": "b c"])
    change(&program)
    let (reading, pid) = try start(program)
    return (text(reading), OwnChildren.end(pid))
  }

  private func start(_ program: Program) throws -> (Descriptor, pid_t) {
    let pipe = try PipeEnds()
    return (pipe.reading, try program.start(output: pipe.writing, errors: pipe.writing))
  }

  @Test func aProgramGetsWhatWasSaidAndNothingElse() throws {
    #expect(
      try run("echo $A $HOME; cat; echo over").0 == "b c\nover\n", "there is nothing to read, and no other variable")
    #expect(try run("pwd") { $0.directory = "/proc" }.0 == "/proc\n")
    #expect(
      try run("echo $$ $OWN; sh -c 'echo $OWN'") { $0.pidVariable = "OWN" }.0
        .split(whereSeparator: \.isWhitespace).reduce(into: Set()) { $0.insert($1) }.count == 1)
    #expect(
      try run("ulimit -c") { $0.limits = [ResourceLimit(resource: Int32(RLIMIT_CORE.rawValue), value: 0)] }.0 == "0\n")
    #expect(try run("for n in 3 4 5 6 7 8 9; do [ -e /proc/$$/fd/$n ] && echo $n; done").0 == "")
  }

  @Test func theEndOfAProgramIsSeen() throws {
    let (reading, pid) = try start(Program(path: "/bin/cat", environment: [:]))
    let process = try Descriptor.ofProcess(pid)
    var end = pollfd(fd: process.number, events: Int16(POLLIN), revents: 0)
    #expect(poll(&end, 1, 30_000) == 1, "it has nothing to read")
    #expect(csystem_wait_status_exited(OwnChildren.end(pid)) != 0 && text(reading).isEmpty)
  }

  @Test func aProgramThatIsNotThereIsNamed() throws {
    // A script that is there, whose interpreter is not.
    let script = temporaryURL("script")
    try "#!/nowhere/python3 -u\n".write(to: script, atomically: true, encoding: .utf8)
    #expect(chmod(script.path, 0o755) == 0)
    defer { try? FileManager.default.removeItem(at: script) }
    // A process that another test is starting has the script open for writing until it executes its own program.
    var missing: SystemCallError?
    repeat {
      missing = #expect(throws: SystemCallError.self) { try start(Program(path: script.path, environment: [:])) }
    } while missing?.number == ETXTBSY
    #expect(
      missing?.description
        == "spawn \(script.path): the program is there, but its interpreter /nowhere/python3 is not")
    let error = #expect(throws: SystemCallError.self) { try start(Program(path: "/nowhere/program", environment: [:])) }
    #expect(error?.path == "/nowhere/program" && error?.number == ENOENT)
  }

  @Test func aDescriptorIsClosedOnceWhenNobodyHasItAnyMore() throws {
    var pipe: PipeEnds? = try PipeEnds()
    let (reading, writing) = try #require(pipe.map { ($0.reading.number, $0.writing.number) })
    #expect(fcntl(reading, F_GETFD) == FD_CLOEXEC && fcntl(writing, F_GETFD) == FD_CLOEXEC)
    let inode = { (number: Int32) -> ino_t? in
      var status = stat()
      return fstat(number, &status) == 0 ? status.st_ino : nil
    }
    let kept = pipe?.reading
    let itsInode = inode(reading)
    pipe = nil
    // Another test may have got the number of the end that is closed.
    #expect(inode(writing) != itsInode && inode(reading) == itsInode)
    var byte: UInt8 = 0
    #expect(read(reading, &byte, 1) == 0, "there is no writer any more")
    withExtendedLifetime(kept) {}
    #expect(throws: SystemCallError("open", path: "/nowhere", number: ENOENT)) {
      try Descriptor(open("/nowhere", O_RDONLY | O_CLOEXEC), "open", path: "/nowhere")
    }
  }
}
