import CSystem
import CTrespass
import Foundation
import Glibc
import WorkerKit

/// A job that tries what a confined worker must not. Its output says what came of it: a name and an error number on
/// each line, 0 for what it was let do.
struct Trespass: TestKind {
  static let kind = "trespass"
  /// The true(1) of a place of its own is declared, the shell is not.
  static let needs = WorkerNeeds(read: ["/usr/share/declared"], execute: ["/usr/bin/true"])
  init() {}

  func run(_ job: Job, in context: NSManagedObjectContext) throws {
    let outside = try job.parameters["outside"]?.stringValue ?? ""
    let port = UInt16(try job.parameters["port"]?.intValue ?? 0)
    let queue = ProcessInfo.processInfo.environment["WORKERPOOL_QUEUE"] ?? ""
    let attempts: [(String, () -> Int32)] = [
      ("read the passwords", { Self.opening("/etc/shadow", O_RDONLY) }),
      ("write the passwords", { Self.opening("/etc/shadow", O_WRONLY) }),
      ("read a file outside", { Self.opening(outside + "/secret", O_RDONLY) }),
      ("write a file outside", { Self.opening(outside + "/made", O_WRONLY | O_CREAT) }),
      ("connect", { Self.connecting(port) }),
      (
        "make a socket for packets", { Self.result(socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)) }
      ),
      ("trace the pool", { Self.tracing() }),
      ("leave its namespaces", { Self.leaving() }),
      ("signal the pool", { Self.result(kill(getppid(), 0)) }),
      ("start the shell", { Self.starting("/bin/sh", "-c", "exit 0") }),
      ("start what is declared", { Self.starting("/usr/bin/true") }),
      ("submit a job", { Self.opening(queue + "/incoming/.trespass", O_WRONLY | O_CREAT) }),
      (
        "write a temporary file",
        { Self.opening(NSTemporaryDirectory() + "/trespass", O_WRONLY | O_CREAT) }
      ),
      ("write a temporary file whole", { Self.writing(NSTemporaryDirectory() + "/trespass") }),
    ]
    let lines =
      attempts.map { "\($0): \($1())\n" }
      + Self.ways(out: outside, queue, try job.parameters["socket"]?.stringValue ?? "")
    unlink(NSTemporaryDirectory() + "/trespass")
    unlink(queue + "/incoming/.trespass")
    job.output = lines.joined()
    try Add().run(job, in: context)
  }

  /// What comes of all ways that are written in C.
  private static func ways(out outside: String, _ queue: String, _ socket: String) -> [String] {
    let words: [String] = [outside, NSTemporaryDirectory(), queue, socket]
    let texts = words.map { strdup($0) }
    defer { texts.forEach { free($0) } }
    var place = trespass_place(
      outside: UnsafePointer(texts[0]), own: UnsafePointer(texts[1]), queue: UnsafePointer(texts[2]),
      abstract_socket: UnsafePointer(texts[3]))
    return (0..<trespass_count()).map { way in
      "\(String(cString: trespass_name(way))): \(trespass_try(way, &place))\n"
    }
  }

  private static func result(_ value: Int32) -> Int32 {
    let number = value < 0 ? errno : 0
    if value > 2 { close(value) }
    return number
  }

  /// Reads memory of a process that it does not trace, which fails by itself with ESRCH where it is allowed.
  private static func tracing() -> Int32 {
    typealias Trace =
      @convention(c) (Int, pid_t, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Int
    guard let trace = dlsym(nil, "ptrace") else { return ENOSYS }
    errno = 0
    _ = unsafeBitCast(trace, to: Trace.self)(2, getppid(), nil, nil)
    return errno == ESRCH ? 0 : errno
  }

  /// A new namespace for the machine's name.
  private static func leaving() -> Int32 {
    typealias Unshare = @convention(c) (Int32) -> Int32
    guard let unshare = dlsym(nil, "unshare") else { return ENOSYS }
    return result(unsafeBitCast(unshare, to: Unshare.self)(0x0400_0000))
  }

  private static func opening(_ path: String, _ flags: Int32) -> Int32 {
    result(open(path, flags, 0o600))
  }

  /// As Foundation does it: beside the file, whose place it then takes.
  private static func writing(_ path: String) -> Int32 {
    do {
      try Data("whole".utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
      return 0
    } catch {
      return ((error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError).map { Int32($0.code) } ?? EIO
    }
  }

  private static func connecting(_ port: UInt16) -> Int32 {
    let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard number >= 0 else { return errno }
    defer { close(number) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let connected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    return connected < 0 ? errno : 0
  }

  private static func starting(_ program: String...) -> Int32 {
    var arguments = program.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var child: pid_t = 0
    let code = posix_spawn(&child, program[0], nil, nil, &arguments, environ)
    if code == 0 {
      var status: Int32 = 0
      waitpid(child, &status, 0)
    }
    return code
  }
}
