import Foundation
import Glibc
import WorkerProtocol

/// The socket that people and scripts ask: JSON requests and replies, a line each, in order.
final class StatusServer {
  /// One asker; replies are sent through it, at once or later.
  final class Client {
    fileprivate let connection: Connection
    fileprivate weak var server: StatusServer?
    fileprivate var isObserving = false

    fileprivate init(_ connection: Connection, _ server: StatusServer) {
      self.connection = connection
      self.server = server
    }

    /// Sends a reply. An asker that is gone gets none.
    func reply(_ reply: StatusReply) { server?.send(reply, to: self) }

    /// From now on the client gets `saved` replies.
    func observe() { isObserving = true }
  }

  /// The longest request in bytes.
  static let requestLimit = 1 << 20
  /// An observer that does not read loses what comes while so many bytes wait for it.
  static let observerBacklog = 1 << 20

  /// Askers at a time; when there are more, the oldest is closed.
  static let clientLimit = 128
  /// An asker that sends requests and does not read the replies is closed when so many bytes wait for it.
  static let replyBacklog = 16 << 20

  private let loop: EventLoop
  private let listener: Int32
  private let handler: (StatusRequest, Client) -> Void
  private var clients: [Int32: Client] = [:]
  /// Descriptors of the clients, the oldest first.
  private var order: [Int32] = []
  private let encoder = JSONEncoder()

  /// Listens at `path` and hands requests to `handler`, which replies exactly once to each.
  init(path: String, loop: EventLoop, handler: @escaping (StatusRequest, Client) -> Void) throws(SystemCallError) {
    self.loop = loop
    self.handler = handler
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    listener = try UnixSocket.listen(at: path)
    watchListener()
  }

  deinit {
    loop.unwatch(listener)
    close(listener)
    for descriptor in clients.keys { loop.unwatch(descriptor) }
  }

  /// Tells the observers of a save.
  func publish(_ change: SavedChange, _ uris: [ObjectURI]) {
    publish { StatusReply(saved: .init(change: change.rawValue, objects: uris.map(\.description))) }
  }

  /// Tells the observers of jobs whose attempt has ended.
  func publish(ended uris: [ObjectURI]) {
    publish { StatusReply(ended: uris.map(\.description)) }
  }

  private func publish(_ makeReply: () -> StatusReply) {
    let observers = clients.values.filter { $0.isObserving && $0.connection.unsentBytes < Self.observerBacklog }
    guard !observers.isEmpty else { return }
    let reply = makeReply()
    for client in observers { send(reply, to: client) }
  }

  /// Writes what waits, as far as the sockets take it.
  func flush() {
    for client in clients.values where client.connection.unsentBytes > 0 {
      let isOut = client.connection.flush()
      loop.setInterest(isOut ? .readable : [.readable, .writable], of: client.connection.descriptor)
    }
  }

  private func acceptAll() {
    do {
      while let descriptor = try UnixSocket.accept(on: listener) { welcome(descriptor) }
    } catch {
      // As for workers: out of descriptors.
      loop.unwatch(listener)
      loop.timers.after(WorkerServer.acceptDelay) { [weak self] in self?.watchListener() }
    }
  }

  private func watchListener() {
    loop.watch(listener, for: .readable) { [weak self] in self?.acceptAll() }
  }

  private func welcome(_ descriptor: Int32) {
    guard let connection = try? Connection(descriptor: descriptor, lineLimit: Self.requestLimit),
      let peer = try? PeerCredentials(of: descriptor), peer.userID == geteuid() || peer.userID == 0
    else { return }
    let client = Client(connection, self)
    clients[descriptor] = client
    order.append(descriptor)
    if order.count > Self.clientLimit, let oldest = clients[order[0]] { forget(oldest) }
    loop.watch(descriptor, for: .readable) { [weak self, weak client] in
      guard let self, let client else { return }
      read(client)
    }
  }

  private func read(_ client: Client) {
    guard let received = try? client.connection.receive() else { return forget(client) }
    switch received {
    case .lines(let lines):
      for line in lines { handle(line, client) }
    case .closed(let lines):
      for line in lines { handle(line, client) }
      forget(client)
    }
  }

  private func handle(_ line: String, _ client: Client) {
    do {
      handler(try StatusRequest.parse(line), client)
    } catch {
      client.reply(StatusReply(ok: false, error: error.reason))
    }
  }

  private func send(_ reply: StatusReply, to client: Client) {
    guard clients[client.connection.descriptor] === client, let data = try? encoder.encode(reply) else { return }
    client.connection.send { bytes in
      bytes.append(contentsOf: data)
      bytes.append(0x0A)
    }
    if client.connection.unsentBytes > Self.replyBacklog { forget(client) }
  }

  private func forget(_ client: Client) {
    let descriptor = client.connection.descriptor
    guard clients.removeValue(forKey: descriptor) != nil else { return }
    order.removeAll { $0 == descriptor }
    client.connection.flush()
    loop.unwatch(descriptor)
    client.connection.close()
  }
}
