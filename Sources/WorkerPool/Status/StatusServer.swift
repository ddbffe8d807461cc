import CSystem
import Foundation
import Glibc
import LinuxSystem
import WorkerProtocol

/// The socket for people and scripts: JSON requests and replies, a line each, in order.
///
/// Each client has one request in work at a time, and gets a share of each turn. Its next request is read once the
/// reply is made and most of the earlier replies are taken: a client that asks without end, or does not read, delays no
/// other client and uses no memory.
///
/// A full house ends no request that has begun. A client that asks for nothing gives way; where there is none, the
/// newest is refused. Both get a reply with ``StatusReply/busy``, and may ask again.
final class StatusServer {
  /// One client; replies are sent through it, at once or later.
  final class Client {
    fileprivate let connection: Connection
    /// The user who has connected, as the kernel says.
    let userID: UInt32
    fileprivate weak var server: StatusServer?
    fileprivate var isObserving = false
    /// A request has no reply yet.
    fileprivate var isAnswered = true
    /// What the loop watches its socket for; `nil`: nothing.
    fileprivate var interest: EventLoop.Interest?
    /// Requests of it wait for the next turn.
    fileprivate var isPostponed = false
    /// It has closed its connection, and has sent further requests before that.
    fileprivate var hasHungUp = false
    /// When it came, or got its last reply: seconds of the monotonic clock.
    fileprivate var idleSince = Clock.now
    /// Called when it is gone before the reply to the request in work.
    var whenGone: () -> Void = {}

    fileprivate init(_ connection: Connection, userID: UInt32, _ server: StatusServer) {
      self.connection = connection
      self.userID = userID
      self.server = server
    }

    /// Sends a reply. A client that is gone gets none.
    func reply(_ reply: StatusReply) { server?.answer(self, reply) }

    /// From now on the client gets `saved` replies.
    func observe() { isObserving = true }

    fileprivate var mayAsk: Bool { isAnswered && connection.unsentBytes < StatusServer.replyShare }

    /// Whether it has asked for nothing that it has not got, as far as the pool has read.
    fileprivate var isIdle: Bool {
      isAnswered && !isObserving && !isPostponed && connection.unsentBytes == 0 && !connection.hasMore
    }

    /// Whether bytes of it wait in the socket.
    fileprivate var hasSentMore: Bool {
      var byte: UInt8 = 0
      return recv(connection.descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) > 0
    }
  }

  /// The longest request in bytes.
  static let requestLimit = 1 << 20
  /// Bytes that may wait for an observer. While more wait, it loses what comes.
  static let observerBacklog = 1 << 20

  /// Clients at a time, where the process may have four times as many files open.
  static let mostClients = 1024
  /// Bytes of replies that may wait for a client. While more wait, none of its requests is read.
  static let replyShare = 1 << 16
  /// Bytes that may wait for a client. When more wait, its connection is closed.
  static let replyBacklog = 16 << 20
  /// Requests of one client that are handled in one turn.
  static let requestsPerTurn = 16

  private let path: String
  private let loop: EventLoop
  private let log: Log
  private var listener: Listener?
  private let handler: (StatusRequest, Client) -> Void
  private var clients: [Int32: Client] = [:]
  private let clientLimit: Int
  private let idleTime: Double
  /// Clients with something to send that the kernel may take.
  private var unflushed: Set<Int32> = []
  private let encoder = JSONEncoder()
  /// When the log last said that a connection could not be accepted.
  private var toldOfShortage: Double?
  /// Seconds until it says so again.
  private static let shortageInterval = 10.0

  /// Listens at `path` and hands requests to `handler`, which replies exactly once to each.
  ///
  /// - Parameters:
  ///   - inherited: a socket that listens at `path` already, which stays the caller's; nil for a new one.
  ///   - idleTime: seconds without a request after which a client gives way to another in a full house.
  init(
    path: String, inherited: Int32? = nil, loop: EventLoop, log: Log,
    clientLimit: Int = min(mostClients, Int(clamping: ErrorNumber.openFileLimit / 4)),
    idleTime: Double = 1, handler: @escaping (StatusRequest, Client) -> Void
  ) throws(SystemCallError) {
    self.path = path
    self.clientLimit = clientLimit
    self.idleTime = idleTime
    self.loop = loop
    self.log = log
    self.handler = handler
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    try listen(inherited)
  }

  /// The socket at the path.
  var descriptor: Int32? { listener?.descriptor }

  private func listen(_ inherited: Int32? = nil) throws(SystemCallError) {
    listener = try Listener(path: path, inherited: inherited, loop: loop, keepsSpare: true) { [weak self] descriptor in
      self?.welcome(descriptor)
    } failed: { [weak self] error in
      self?.makeRoom(error) ?? false
    }
  }

  /// Makes the socket again if it was removed or replaced. Connections stay. Returns whether that was needed.
  func listenAgainIfNeeded() throws(SystemCallError) -> Bool {
    if listener?.isInPlace == true { return false }
    try listen()
    return true
  }

  /// Out of descriptors, a client that asks for nothing gives way to the one that waits. Returns whether there was one;
  /// else the one that waits is accepted when a descriptor is free.
  private func makeRoom(_ error: SystemCallError) -> Bool {
    if toldOfShortage.map({ Clock.now - $0 > Self.shortageInterval }) ?? true {
      toldOfShortage = Clock.now
      log(.trouble, "a connection to the status socket cannot be accepted now: \(error)")
    }
    return closeIdleClient()
  }

  /// Closes the client that has asked for nothing for longest, and at least for `idleTime`. Returns whether there was
  /// one.
  private func closeIdleClient() -> Bool {
    let end = Clock.now - idleTime
    let idle = clients.values.filter { $0.idleSince < end && $0.isIdle }.sorted { $0.idleSince < $1.idleSince }
    guard let client = idle.first(where: { !$0.hasSentMore }) else { return false }
    send(Self.busy, to: client)
    forget(client)
    return true
  }

  /// The reply to a request that nothing was done about.
  private static let busy = StatusReply(
    ok: false, error: "the pool has as many clients as it can have; ask again in a moment", busy: true)

  deinit {
    for client in clients.values where client.interest != nil { loop.unwatch(client.connection.descriptor) }
  }

  /// Tells the observers of a save.
  func publish(_ change: SavedChange, _ uris: [ObjectURI]) {
    publish { StatusReply(saved: .init(change: change.rawValue, objects: uris.map(\.description))) }
  }

  /// Tells the observers of jobs whose attempt has ended.
  func publish(ended uris: @autoclosure () -> [String]) {
    publish { StatusReply(ended: uris()) }
  }

  /// Whether any client observes.
  var hasObservers: Bool { clients.values.contains(where: \.isObserving) }

  /// Tells the observers of what happened at another pool. Returns whether there are any.
  func publish(_ event: StatusReply) -> Bool {
    publish { event }
    return hasObservers
  }

  private func publish(_ makeReply: () -> StatusReply) {
    let observers = clients.values.filter { $0.isObserving && $0.connection.unsentBytes < Self.observerBacklog }
    guard !observers.isEmpty else { return }
    let reply = makeReply()
    for client in observers { send(reply, to: client) }
  }

  /// Whether clients other than this one wait for the reply to a request. Observers wait for more than that.
  func hasRequests(but asking: Client) -> Bool {
    clients.values.contains {
      $0 !== asking && !$0.isObserving && (!$0.isAnswered || $0.connection.hasMore || $0.hasSentMore)
    }
  }

  /// Writes what waits, as far as the sockets take it.
  func flush() {
    let descriptors = unflushed
    unflushed.removeAll(keepingCapacity: true)
    for client in descriptors.compactMap({ clients[$0] }) {
      client.connection.flush()
      update(client)
    }
  }

  // MARK: Connections

  private func welcome(_ descriptor: Int32) {
    // A client without a connection or credentials cannot be answered, not even with the error.
    guard let connection = try? Connection(descriptor: descriptor, lineLimit: Self.requestLimit),
      let peer = try? PeerCredentials(of: descriptor), peer.userID == geteuid() || peer.userID == 0
    else { return }
    let client = Client(connection, userID: peer.userID, self)
    let isWelcome = clients.count < clientLimit || closeIdleClient()
    clients[descriptor] = client
    if isWelcome { return update(client) }
    send(Self.busy, to: client)
    forget(client)
  }

  /// Lets the loop watch a client's socket for the events that matter now.
  private func update(_ client: Client) {
    let descriptor = client.connection.descriptor
    guard clients[descriptor] === client else { return }
    var interest: EventLoop.Interest = client.mayAsk ? .readable : []
    if client.connection.unsentBytes > 0 { interest.insert(.writable) }
    if client.mayAsk, client.connection.hasMore { readLater(client) }
    guard interest != client.interest else { return }
    if interest.isEmpty, client.hasHungUp {
      // The kernel would tell of its end again and again.
      if client.interest != nil { loop.unwatch(descriptor) }
      client.interest = nil
    } else if client.interest == nil {
      do throws(SystemCallError) {
        try loop.watch(descriptor, for: interest) { [weak self, weak client] in
          guard let self, let client else { return }
          ready(client)
        }
        client.interest = interest
      } catch {
        log(.trouble, "a connection to the status socket is closed, since it cannot be watched: \(error)")
        forget(client)
      }
    } else {
      loop.setInterest(interest, of: descriptor)
      client.interest = interest
    }
  }

  private func ready(_ client: Client) {
    if client.interest?.isEmpty == true { return hungUp(client) }
    if client.connection.unsentBytes > 0 { unflushed.insert(client.connection.descriptor) }
    if !client.isPostponed { read(client) }
  }

  /// A client closes its connection before the reply to its request. Requests that it has sent are carried out.
  private func hungUp(_ client: Client) {
    guard client.hasSentMore || client.connection.hasMore else { return forget(client) }
    client.hasHungUp = true
    loop.unwatch(client.connection.descriptor)
    client.interest = nil
  }

  private func readLater(_ client: Client) {
    guard !client.isPostponed else { return }
    client.isPostponed = true
    loop.inNextTurn { [weak self, weak client] in
      guard let self, let client, clients[client.connection.descriptor] === client else { return }
      client.isPostponed = false
      read(client)
    }
  }

  /// Handles a client's share of a turn.
  private func read(_ client: Client) {
    var count = 0
    repeat {
      guard client.mayAsk else { break }
      let received: Connection.Received
      do throws(MessageError) {
        received = try client.connection.receive(atMost: 1)
      } catch {
        // Where its next request begins is not known.
        client.reply(
          StatusReply(
            ok: false,
            error:
              "a request is a line of UTF-8 with at most \(Self.requestLimit) bytes, and \(error); the connection is "
              + "closed"))
        return forget(client)
      }
      count += 1
      switch received {
      case .lines(let lines):
        for line in lines { handle(line, client) }
      case .closed(let lines):
        for line in lines { handle(line, client) }
        return forget(client)
      }
    } while count < Self.requestsPerTurn && client.connection.hasMore
    update(client)
  }

  private func handle(_ line: String, _ client: Client) {
    client.isAnswered = false
    do {
      handler(try StatusRequest.parse(line), client)
    } catch {
      client.reply(StatusReply(ok: false, error: error.reason))
    }
  }

  private func answer(_ client: Client, _ reply: StatusReply) {
    client.isAnswered = true
    client.idleSince = Clock.now
    client.whenGone = {}
    send(reply, to: client)
  }

  private func send(_ reply: StatusReply, to client: Client) {
    let descriptor = client.connection.descriptor
    // Replies are made of texts and numbers, which can be encoded.
    guard clients[descriptor] === client, let data = try? encoder.encode(reply) else { return }
    client.connection.send { bytes in
      bytes.append(contentsOf: data)
      bytes.append(0x0A)
    }
    unflushed.insert(descriptor)
    if client.connection.unsentBytes > Self.replyBacklog { forget(client) }
  }

  private func forget(_ client: Client) {
    let descriptor = client.connection.descriptor
    guard clients.removeValue(forKey: descriptor) != nil else { return }
    client.connection.flush()
    if client.interest != nil { loop.unwatch(descriptor) }
    client.connection.close()
    client.whenGone()
  }
}
