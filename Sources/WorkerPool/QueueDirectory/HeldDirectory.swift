import Foundation
import Jobs
import Synchronization

/// A directory of the queue directory, held open. When another directory takes its place, that one is opened.
final class HeldDirectory: Sendable {
  /// Who makes the directory when it is missing.
  enum Maker {
    /// The pool, which alone puts files there; with that mode.
    case pool(mode_t)
    /// A person: the directory may be missing only while it is being replaced.
    case person
  }

  /// What a check of the path found.
  enum Change: Equatable {
    case none
    /// The path leads to another directory than before, which is held now.
    case replaced
    /// There is no usable directory: still, or for the first time, which may be the moment between two steps of a
    /// replacement.
    case unusable
    /// Two checks found no directory at the path. Reported once.
    case missing
    /// The path cannot be examined, or what is there cannot be opened. Reported once.
    case failed(FileError)
  }

  private struct State {
    var directory: OpenDirectory?
    var checksWithout = 0
    var failure: FileError?
  }

  let path: String
  private let maker: Maker
  private let state: Mutex<State>

  /// - Throws: ``FileError`` when there is no directory, or another user's where the pool needs its own.
  init(_ path: String, madeBy maker: Maker) throws {
    self.path = path
    self.maker = maker
    state = Mutex(State(directory: try Self.open(path, maker)))
  }

  /// The directory that the last check found; `nil` while there is none.
  var current: OpenDirectory? { state.withLock { $0.directory } }

  /// Checks that the path still leads to the directory that is held, and otherwise holds the one that it leads to now.
  func check() -> Change {
    var status = stat()
    if stat(path, &status) == 0 {
      if let held = current, held.isSame(as: status) { return .none }
      return hold()
    }
    guard errno == ENOENT else { return fail(FileError(path: path, action: "be examined", errno: errno), keeps: true) }
    if case .pool = maker { return hold() }
    return state.withLock { state in
      state.directory = nil
      state.checksWithout += 1
      return state.checksWithout == 2 ? .missing : .unusable
    }
  }

  private func hold() -> Change {
    do {
      let directory = try Self.open(path, maker)
      state.withLock { $0 = State(directory: directory) }
      return .replaced
    } catch {
      return fail(error, keeps: false)
    }
  }

  private func fail(_ error: FileError, keeps: Bool) -> Change {
    state.withLock { state in
      if !keeps { state.directory = nil }
      defer { state.failure = error }
      return state.failure == error ? .unusable : .failed(error)
    }
  }

  private static func open(_ path: String, _ maker: Maker) throws(FileError) -> OpenDirectory {
    guard case .pool(let mode) = maker else { return try OpenDirectory(path) }
    if mkdir(path, mode) != 0, errno != EEXIST { throw FileError(path: path, action: "be made", errno: errno) }
    let directory = try OpenDirectory(path)
    if mode == QueueLayout.privateMode {
      try makePrivate(directory)
      _ = try directory.identity()
    }
    return directory
  }

  /// Keeps other users from putting files into the directory, and from seeing those in it.
  private static func makePrivate(_ directory: OpenDirectory) throws(FileError) {
    guard directory.owner == geteuid() else {
      throw FileError(path: directory.path, action: "be used: it belongs to user \(directory.owner)", errno: EPERM)
    }
    guard fchmod(directory.descriptor, QueueLayout.privateMode) == 0 else {
      throw FileError(path: directory.path, action: "be kept from other users", errno: errno)
    }
  }
}
