import CMicroHTTPD
import LinuxSystem
import Synchronization

/// An HTTP server on a listening socket: libmicrohttpd's one thread reads and writes, and hands whole requests on.
///
/// Connections, headers and bodies are bounded, so that a flood of requests grows nothing. While a request is worked
/// on, its connection rests.
final class HTTPServer: Sendable {
  enum Bound {
    static let connections: UInt32 = 512
    /// Bytes of a connection's buffers; the headers of a request are smaller.
    static let connectionBytes = 32 << 10
    static let bodyBytes = 64 << 10
    static let idleSeconds: UInt32 = 30
  }

  /// How a request gets its answer.
  enum Handling {
    case atOnce(HTTPResponse)
    /// By a function that calls its argument with the answer, once, later or at once, on any thread.
    case later((@escaping @Sendable (HTTPResponse) -> Void) -> Void)
  }

  /// Decides on a request, on the server's thread.
  private let handle: @Sendable (HTTPRequest) -> Handling
  private let deadlines = RequestDeadlines()

  /// - Parameters:
  ///   - listener: a listening socket, which belongs to the server from now on. The server runs until the process ends.
  /// - Throws: ``ServerStartError``
  init(listener: Int32, handle: @escaping @Sendable (HTTPRequest) -> Handling) throws {
    self.handle = handle
    // The server runs until the process ends, and keeps this object.
    let closure = Unmanaged.passRetained(self).toOpaque()
    let daemon = cmicrohttpd_start(
      listener, Bound.connections, Bound.connectionBytes, Bound.idleSeconds,
      { closure, connection, path, method, _, data, size, slot in
        guard let closure, let connection, let path, let method, let size, let slot else { return cmicrohttpd_no }
        let server = Unmanaged<HTTPServer>.fromOpaque(closure).takeUnretainedValue()
        guard let pointer = slot.pointee else {
          let exchange = Exchange(HTTPServer.head(connection, String(cString: method), String(cString: path)))
          slot.pointee = Unmanaged.passRetained(exchange).toOpaque()
          return cmicrohttpd_yes
        }
        let exchange = Unmanaged<Exchange>.fromOpaque(pointer).takeUnretainedValue()
        if size.pointee > 0, let data {
          exchange.take(UnsafeRawBufferPointer(start: data, count: size.pointee))
          size.pointee = 0
          return cmicrohttpd_yes
        }
        return server.goOn(exchange, connection)
      },
      { closure, connection, slot, _ in
        guard let pointer = slot?.pointee else { return }
        Unmanaged<Exchange>.fromOpaque(pointer).release()
        slot?.pointee = nil
        guard let closure, let connection else { return }
        let server = Unmanaged<HTTPServer>.fromOpaque(closure).takeUnretainedValue()
        server.deadlines.expect(connection, socket: cmicrohttpd_socket(connection))
      },
      { closure, connection, _, code in
        guard let closure, let connection else { return }
        let deadlines = Unmanaged<HTTPServer>.fromOpaque(closure).takeUnretainedValue().deadlines
        if code == cmicrohttpd_started {
          deadlines.expect(connection, socket: cmicrohttpd_socket(connection))
        } else {
          deadlines.forget(connection)
        }
      }, closure)
    guard daemon != nil else { throw ServerStartError() }
  }

  private static func head(_ connection: OpaquePointer, _ method: String, _ path: String) -> HTTPRequest {
    var request = HTTPRequest(method: method, path: path)
    withUnsafeMutablePointer(to: &request) { closure in
      _ = MHD_get_connection_values_n(
        connection, cmicrohttpd_header,
        { closure, _, name, nameSize, value, valueSize in
          guard let request = closure?.assumingMemoryBound(to: HTTPRequest.self), let name else {
            return cmicrohttpd_yes
          }
          request.pointee.take(header: text(name, nameSize), value.map { text($0, valueSize) } ?? "")
          return cmicrohttpd_yes
        }, closure)
    }
    var query = Parameters()
    withUnsafeMutablePointer(to: &query) { closure in
      _ = MHD_get_connection_values_n(
        connection, cmicrohttpd_argument,
        { closure, _, name, nameSize, value, valueSize in
          guard let query = closure?.assumingMemoryBound(to: Parameters.self), let name else { return cmicrohttpd_yes }
          query.pointee.add(text(name, nameSize), value.map { text($0, valueSize) } ?? "")
          return cmicrohttpd_yes
        }, closure)
    }
    request.query = query
    return request
  }

  /// The body is complete: the request is worked on, or its answer is there.
  private func goOn(_ exchange: Exchange, _ connection: OpaquePointer) -> MHD_Result {
    if let response = exchange.response { return Self.answer(connection, response) }
    if exchange.isTooLarge {
      let text = "the request has more than \(Bound.bodyBytes >> 10) KiB\n"
      return Self.answer(connection, HTTPResponse(413, "text/plain; charset=utf-8", Array(text.utf8)))
    }
    deadlines.forget(connection)
    switch handle(exchange.request) {
    case .atOnce(let response): return Self.answer(connection, response)
    case .later(let work):
      MHD_suspend_connection(connection)
      let address = UInt(bitPattern: connection)
      work { response in
        exchange.set(response)
        MHD_resume_connection(OpaquePointer(bitPattern: address))
      }
      return cmicrohttpd_yes
    }
  }

  private static func answer(_ connection: OpaquePointer, _ response: HTTPResponse) -> MHD_Result {
    let made: OpaquePointer?
    switch response.body {
    case .bytes(var bytes):
      made = bytes.withUnsafeMutableBytes {
        MHD_create_response_from_buffer($0.count, $0.baseAddress, cmicrohttpd_copy)
      }
    case .events(let stream):
      stream.attach(to: connection)
      let sizeUnknown = UInt64.max
      made = MHD_create_response_from_callback(
        sizeUnknown, 16 << 10,
        { closure, _, buffer, size in
          guard let closure, let buffer else { return -1 }
          return Unmanaged<EventStream>.fromOpaque(closure).takeUnretainedValue().read(into: buffer, size)
        }, Unmanaged.passRetained(stream).toOpaque(),
        { closure in
          guard let closure else { return }
          let stream = Unmanaged<EventStream>.fromOpaque(closure)
          stream.takeUnretainedValue().close()
          stream.release()
        })
    }
    guard let made else { return cmicrohttpd_no }
    for (name, value) in response.headers { MHD_add_response_header(made, name, value) }
    defer { MHD_destroy_response(made) }
    return MHD_queue_response(connection, response.status, made)
  }
}

/// The server's thread could not be started.
struct ServerStartError: Error, CustomStringConvertible {
  let description = "the HTTP server cannot be started: no memory, threads or descriptors are left"
}

private func text(_ bytes: UnsafePointer<CChar>, _ count: Int) -> String {
  String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
}

/// A request and its answer. The server's thread fills the request; the queue's thread sets the answer.
private final class Exchange: Sendable {
  private struct State {
    var request: HTTPRequest
    var isTooLarge = false
    var response: HTTPResponse?
  }

  private let state: Mutex<State>

  init(_ request: HTTPRequest) { state = Mutex(State(request: request)) }

  var request: HTTPRequest { state.withLock { $0.request } }
  var isTooLarge: Bool { state.withLock { $0.isTooLarge } }
  var response: HTTPResponse? { state.withLock { $0.response } }

  func set(_ response: HTTPResponse) { state.withLock { $0.response = response } }

  /// Keeps a part of the body, unless the body is too large; the rest of a large body is read and dropped.
  func take(_ bytes: UnsafeRawBufferPointer) {
    let part = Array(bytes)
    state.withLock { state in
      if state.request.body.count + part.count > HTTPServer.Bound.bodyBytes {
        state.isTooLarge = true
        state.request.body = []
      }
      if !state.isTooLarge { state.request.body += part }
    }
  }
}
