import CMicroHTTPD
import Glibc
import Synchronization

/// Server-sent events for one browser. It keeps the event that is being sent and the newest one, and no other: a slow
/// reader misses events, and costs no memory.
final class EventStream: Sendable {
  private struct State {
    var sending: ArraySlice<UInt8> = []
    var next: [UInt8]?
    /// The address of a connection that waits for the next event.
    var suspended: UInt?
    var isClosed = false
    var isEnding = false
  }

  private let state = Mutex(State())
  private let connection = Atomic<UInt>(0)

  /// Whether the browser is gone.
  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Sends an event when all that is being sent has gone out, in place of one that still waits.
  func send(event: String, data: String) {
    var text = "event: \(event)\n"
    for line in data.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) { text += "data: \(line)\n" }
    send(Array((text + "\n").utf8))
  }

  /// Sends a comment, so that a browser that is gone is noticed.
  func sendSignOfLife() { send(Array(": \n\n".utf8)) }

  /// Ends the stream; the browser asks for another one some seconds later.
  func end() { resume { $0.isEnding = true } }

  private func send(_ bytes: [UInt8]) { resume { $0.next = bytes } }

  private func resume(_ change: (inout State) -> Void) {
    let resting: UInt? = state.withLock { state in
      guard !state.isClosed else { return nil }
      change(&state)
      defer { state.suspended = nil }
      return state.suspended
    }
    // Outside of the lock, which the server's thread takes while it holds locks of its own. The server frees no
    // connection that rests.
    if let resting { MHD_resume_connection(OpaquePointer(bitPattern: resting)) }
  }

  // MARK: On the server's thread

  func attach(to connection: OpaquePointer) {
    self.connection.store(UInt(bitPattern: connection), ordering: .relaxed)
  }

  /// Fills the buffer with the next bytes of the stream; without any, the connection is suspended. Returns their
  /// number, or -1 at the stream's end.
  func read(into buffer: UnsafeMutablePointer<CChar>, _ size: Int) -> Int {
    state.withLock { state in
      // MHD_CONTENT_READER_END_OF_STREAM.
      if state.isEnding { return -1 }
      if state.sending.isEmpty, let next = state.next {
        state.sending = next[...]
        state.next = nil
      }
      guard !state.sending.isEmpty else {
        let address = connection.load(ordering: .relaxed)
        state.suspended = address
        MHD_suspend_connection(OpaquePointer(bitPattern: address))
        return 0
      }
      let part = state.sending.prefix(size)
      part.withUnsafeBytes { UnsafeMutableRawPointer(buffer).copyMemory(from: $0.baseAddress!, byteCount: $0.count) }
      state.sending = state.sending.dropFirst(part.count)
      return part.count
    }
  }

  func close() {
    state.withLock { state in
      state.isClosed = true
      state.sending = []
      state.next = nil
      state.suspended = nil
    }
  }
}
