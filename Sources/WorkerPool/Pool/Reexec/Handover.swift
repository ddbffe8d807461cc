import CSystem
import Foundation
import Glibc
import Jobs
import LinuxSystem
import WorkerProtocol

/// What a pool hands over to the program that takes its place in the same process: the descriptors that stay open, the
/// worker processes, and what these hold. All else is in the store and in the ledger, where a pool finds it that takes
/// over from a dead one.
///
/// The document lies in a file in memory. The environment variable ``variable`` names its descriptor, and whether the
/// program has to go on with the pool or only to say whether it could.
struct Handover: Codable {
  /// The edition of this document: of its members, of what they contain, and of what the workers were told, such as the
  /// version of their protocol. Change it with any of these.
  static let version = 2
  static let variable = "WORKERPOOL_HANDOVER"

  /// A worker with its conversation.
  struct Worker: Codable {
    let process: HandedWorker
    let socket: Int32
    let buffers: Connection.Buffers
    /// Whether it leaves the rows of its jobs to the pool.
    let leavesRows: Bool
    /// What it has used; nil where the kernel did not tell.
    let usage: UsageMeter.Handed?
  }

  var version = Self.version
  /// The path of the queue directory, absolute, and of the store's file.
  let queue: String
  let store: String
  /// The descriptors by which they are locked.
  let queueLock: Int32
  let storeLock: Int32
  /// The socket on which requests come.
  let statusSocket: Int32?
  /// The number of workers that `scale` or a signal has set; nil for that of the options.
  let workerCount: Int?
  let fixedWorkers: [String: Int]?
  let lastWorker: Int
  let hasOtherChildren: Bool?
  let plugins: [Plugin]
  let workers: [Worker]
  let hands: Hands

  /// All descriptors that it names.
  var descriptors: [Int32] {
    [queueLock, storeLock] + [statusSocket].compactMap(\.self)
      + workers.flatMap { [$0.socket] + $0.process.child.descriptors }
  }

  /// The processes of the workers.
  var processes: Set<Int32> { Set(workers.map(\.process.child.pid)) }

  /// The jobs that have sheets, with the numbers of their handing out.
  var sheets: [JobKey: Int] {
    let ids = Set(workers.filter(\.leavesRows).map(\.process.id))
    return hands.jobs.filter { ids.contains($0.value.worker) }.mapValues(\.run)
  }

  // MARK: Reading and writing

  /// It cannot be read.
  struct Unreadable: Error, CustomStringConvertible {
    let description: String
  }

  /// Reads the document.
  ///
  /// - Throws: ``Unreadable``.
  init(_ bytes: Data) throws(Unreadable) {
    struct Edition: Decodable { let version: Int }
    do {
      let edition = try JSONDecoder().decode(Edition.self, from: bytes).version
      guard edition == Self.version else {
        throw Unreadable(
          description: "the running pool hands over by edition \(edition), and this program takes over by edition "
            + "\(Self.version) only; stop the pool and start it again")
      }
      self = try JSONDecoder().decode(Self.self, from: bytes)
    } catch let error as Unreadable {
      throw error
    } catch {
      throw Unreadable(description: "what the running pool hands over cannot be read: \(error)")
    }
  }

  init(
    queue: String, store: String, locks: PoolLocks, statusSocket: Int32?, workerCount: Int?,
    fixedWorkers: [String: Int]?, lastWorker: Int, hasOtherChildren: Bool?, plugins: [Plugin], workers: [Worker],
    hands: Hands
  ) {
    (self.queue, self.store) = (queue, store)
    (queueLock, storeLock, self.statusSocket) = (locks.queue, locks.store, statusSocket)
    (self.workerCount, self.fixedWorkers, self.lastWorker) = (workerCount, fixedWorkers, lastWorker)
    (self.hasOtherChildren, self.plugins, self.workers, self.hands) = (hasOtherChildren, plugins, workers, hands)
  }

  /// A file in memory with the document, close-on-exec, to be read from its beginning.
  func file() throws -> Descriptor {
    let data = try JSONEncoder().encode(self)
    let file = try Descriptor(csystem_memory_file("workerpool-handover"), "memfd_create")
    try Array(data).writeAll(to: file.number, path: "the file of the hand-over")
    guard lseek(file.number, 0, SEEK_SET) == 0 else { throw SystemCallError("lseek") }
    return file
  }

  // MARK: What a program is started with

  /// What the program before this one, or the pool that this one is to take over, wants.
  enum Request {
    /// Say whether this program could go on with the pool.
    case check(Result<Handover, Unreadable>)
    /// Go on with the pool.
    case takeOver(Handover)

    /// The value of ``Handover/variable``.
    static func text(check descriptor: Int32) -> String { "check:\(descriptor)" }
    static func text(takeOver descriptor: Int32) -> String { "take:\(descriptor)" }
  }

  /// The request to this process, once; nil for a pool that begins. All descriptors that come with it are
  /// close-on-exec from then on.
  ///
  /// - Throws: ``Unreadable`` where the pool's former program has gone already, and where the variable does not come
  ///   from a pool.
  static func takeRequest() throws(Unreadable) -> Request? {
    guard let text = ProcessInfo.processInfo.environment[variable] else { return nil }
    unsetenv(variable)
    let words = text.split(separator: ":")
    // Anything but a file in memory, such as a terminal, could keep this process waiting.
    var status = stat()
    guard words.count == 2, ["check", "take"].contains(words[0]), let number = Int32(words[1]),
      fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG
    else {
      throw Unreadable(
        description: "the environment variable \(variable) is \"\(text)\"; only a pool may set it, for the program "
          + "that takes its place: start this one without it")
    }
    let file = FileHandle(fileDescriptor: number, closeOnDealloc: true)
    let handover = Result { () throws(Unreadable) in
      do { return try Handover(try file.readToEnd() ?? Data()) } catch let error as Unreadable { throw error } catch {
        throw Unreadable(description: "what the running pool hands over cannot be read: \(error)")
      }
    }
    if words[0] == "check" { return .check(handover) }
    let document = try handover.get()
    for descriptor in document.descriptors { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    return .takeOver(document)
  }

  /// Replaces the program of this process. Returns only with the error for which it could not; then nothing has
  /// changed.
  func replaceProgram(_ path: String, _ arguments: [String]) -> any Error {
    let file: Descriptor
    do { file = try self.file() } catch { return error }
    let kept = descriptors + [file.number]
    setenv(Self.variable, Request.text(takeOver: file.number), 1)
    for descriptor in kept { _ = fcntl(descriptor, F_SETFD, 0) }
    var words = ([path] + arguments).map { strdup($0) } + [nil]
    execv(path, &words)
    let error = SystemCallError("execve", path: path)
    for descriptor in kept { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    unsetenv(Self.variable)
    for word in words { free(word) }
    return error
  }
}

/// The descriptors by which a pool has locked its queue directory and its store's file.
struct PoolLocks: Sendable {
  let queue: Int32
  let store: Int32
}
