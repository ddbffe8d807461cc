import Foundation
import Testing

/// A pool some of whose system calls fail: `workerpool run` with Tests/Support/FaultyCalls before the C library.
final class FaultyPool {
  /// Whose calls fail.
  enum Program: String, CaseIterable {
    case supervisor = "workerpool"
    case worker = "worker-test"
  }

  /// What fails, and how.
  struct Fault: CustomStringConvertible {
    enum Mode: String {
      case once, ever, kill
    }

    let program: Program
    let call: Call
    var mode = Mode.once
    let error: Int32

    var isForGood: Bool { mode == .ever }

    var description: String {
      let place = "call \(call.number) of \(program.rawValue), \(call.function) \(call.file)"
      if mode == .kill { return "killed before \(place)" }
      return "\(place): \(String(cString: strerror(error)))\(isForGood ? " for good" : "")"
    }
  }

  /// A call that a run without faults made.
  struct Call {
    let number: Int
    let group: String
    let function: String
    let file: String

    init?(line: Substring) {
      let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
      guard words.count >= 4, let number = Int(words[0]) else { return nil }
      self.number = number
      (group, function, file) = (words[1], words[2], words[3])
    }

    /// The errors with which such a call fails.
    var errors: [Int32] {
      switch group {
      case "write": [ENOSPC, EIO]
      case "lock": [EAGAIN, EIO]
      case "open": [EMFILE, ENOSPC]
      case "accept": [EMFILE]
      case "spawn": [EAGAIN, EMFILE]
      case "thread": [EAGAIN]
      case "send": [ENOBUFS]
      case "socket": [EMFILE]
      case "read": [EIO]
      default: [EIO, ENOSPC]
      }
    }
  }

  private let process = Process()
  private let output: Int32
  private(set) var log = ""
  private(set) var hasEnded = false

  /// A shim of Tests/Support, built with the compiler that Swift comes with.
  static func library(_ name: String = "FaultyCalls", in place: TestPlace) throws -> String {
    let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../Support/\(name)/\(name).c").standardizedFileURL.path
    let library = place.path("\(name).so")
    let built = try run("/usr/bin/env", ["clang", "-shared", "-fPIC", "-O1", "-o", library, source])
    try #require(built.code == 0, "\(built.errors)")
    return library
  }

  /// - Parameter record: the file that gets a line for each call.
  init(_ items: ItemPool, library: String, program: Program, fault: Fault?, record: String? = nil) throws {
    var environment = ProcessInfo.processInfo.environment
    environment["LD_PRELOAD"] = library
    environment["FAULT_PROGRAM"] = program.rawValue
    environment["FAULT_LOG"] = record
    if let fault {
      environment["FAULT_MARK"] = items.place.path("fault")
      environment["FAULT_GROUP"] = fault.call.group
      environment["FAULT_AT"] = String(fault.call.number)
      environment["FAULT_MODE"] = fault.mode.rawValue
      environment["FAULT_ERRNO"] = String(fault.error)
    }
    let pipe = Pipe()
    output = dup(pipe.fileHandleForReading.fileDescriptor)
    process.executableURL = URL(fileURLWithPath: Built.path("workerpool"))
    process.arguments = [
      "run", "--workers", "1", "--store", items.store, "--model", items.model, "--queue", items.queue, "--plugins",
      items.plugins, "--without-bundled", "--deadline", "1",
    ]
    if program == .worker {
      let names = ["PROGRAM", "LOG", "MARK", "GROUP", "AT", "MODE", "ERRNO"].map { "FAULT_" + $0 }
      for name in ["LD_PRELOAD"] + names { process.arguments? += ["--env", name] }
    }
    process.environment = environment
    process.standardInput = FileHandle.nullDevice
    process.standardError = pipe
    try process.run()
    try pipe.fileHandleForWriting.close()
  }

  deinit {
    close(output)
    if process.isRunning { process.terminate() }
  }

  /// Follows the log until the condition holds, which is asked after each line and after each silence of a while, until
  /// the pool has ended, or for so many silences.
  func follow(silences: Int, until isSatisfied: (String) throws -> Bool) throws {
    var silencesLeft = silences
    while silencesLeft > 0, try !isSatisfied(log) {
      var ready = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
      guard poll(&ready, 1, 100) == 1 else {
        silencesLeft -= 1
        continue
      }
      guard readSome() else { return }
    }
  }

  /// Tells the pool to end, and waits for it; how it ended.
  func end() -> (status: Int32, isSignal: Bool) {
    process.terminate()
    while readSome() {}
    process.waitUntilExit()
    return (process.terminationStatus, process.terminationReason == .uncaughtSignal)
  }

  private func readSome() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 16_384)
    let count = read(output, &buffer, buffer.count)
    if count > 0 { log += String(decoding: buffer.prefix(count), as: UTF8.self) } else { hasEnded = true }
    return count > 0
  }
}
