import Glibc
import WorkerProtocol

/// The answer to a hello.
enum Admission: Equatable {
  case admitted(WorkerID)
  case refused(Refusal)
  /// It is not known yet which process is the worker: `admitNewcomers` follows.
  case later
}

/// Receives what comes through the workers' sockets. All calls come on the loop.
protocol WorkerServerDelegate: AnyObject {
  /// Checks a hello: whether it comes from a worker that was started, and from which.
  func admit(version: Int, token: String, kinds: [String], peer: PeerCredentials) -> Admission
  func received(_ message: WorkerMessage, from id: WorkerID)
  /// A connection waits that cannot be accepted now.
  func cannotAccept(_ error: SystemCallError)
  /// A process sent something that is no message; `id` is nil before its hello. Its connection is closed next.
  func brokeProtocol(_ error: MessageError, _ id: WorkerID?, peer: PeerCredentials?)
  /// The worker closed its connection, or the server closed it because of what the worker sent.
  func disconnected(_ id: WorkerID)
}

/// The socket that workers connect to: accepts, checks the hello, turns lines into messages and messages into lines.
///
/// What is sent is gathered until `flush`, which writes it once for each turn of the loop.
final class WorkerServer {
  /// A connection, and its worker once that has said hello.
  private final class Peer {
    let connection: Connection
    var id: WorkerID?
    var isClosing = false
    /// Its hello, while it is not known whether that is true. No more of it is read until then.
    var hello: (version: Int, token: String, kinds: [String])?
    /// It has sent something since the last call of `hasSpoken`.
    var hasSpoken = false
    /// Lines of it wait for the next turn.
    var isPostponed = false

    init(_ connection: Connection) { self.connection = connection }
  }

  /// Connections that have not said hello; when there are more, the oldest is closed.
  static let mostNewcomers = 64
  /// Bytes that may wait for a worker. While more wait, it gets no `SAVED` lines.
  static let savedBacklog = 1 << 20
  /// Bytes that may wait for a worker. When more wait, its connection is closed.
  static let unreadLimit = 16 << 20
  /// Lines of one worker that are handled in one turn.
  static let linesPerTurn = 256
  /// Bytes that are read from a dead worker: more than its socket holds. There is a limit because a process that it
  /// started may go on writing.
  static let lastBytes = 1 << 20

  private let path: String
  private let loop: EventLoop
  private let log: Log
  private var listener: Listener?
  private let recorder: ConversationRecorder?
  private var peers: [Int32: Peer] = [:]
  private var peersByID: [WorkerID: Peer] = [:]
  private var unflushed: Set<Int32> = []
  /// Connections without a hello, the oldest first.
  private var newcomers: [Int32] = []
  /// The last connection could not be accepted.
  private var isShort = false
  weak var delegate: WorkerServerDelegate?

  /// Listens at `path`.
  init(path: String, loop: EventLoop, log: Log, recorder: ConversationRecorder? = nil) throws(SystemCallError) {
    self.path = path
    self.loop = loop
    self.log = log
    self.recorder = recorder
    try listen()
  }

  /// Makes the socket again if it was removed or replaced. Connections stay. Returns whether that was needed.
  func listenAgainIfNeeded() throws(SystemCallError) -> Bool {
    if listener?.isInPlace == true { return false }
    try listen()
    return true
  }

  private func listen() throws(SystemCallError) {
    listener = try Listener(path: path, loop: loop) { [weak self] descriptor throws(SystemCallError) in
      try self?.welcome(descriptor)
    } failed: { [weak self] error in
      self?.cannotAccept(error)
      return false
    }
  }

  deinit {
    for descriptor in peers.keys { loop.unwatch(descriptor) }
  }

  /// Sends a message with the next `flush`. A worker that is gone gets nothing.
  func send(_ message: CoordinatorMessage, to id: WorkerID) {
    guard let peer = peersByID[id] else { return }
    if case .saved = message, peer.connection.unsentBytes > Self.savedBacklog { return }
    send(message, to: peer)
  }

  /// Tells the worker that it is refused and closes the connection.
  func dismiss(_ id: WorkerID, _ refusal: Refusal) {
    guard let peer = peersByID[id] else { return }
    refuse(peer, refusal)
  }

  /// Reads what a worker had sent before it died, and closes its connection.
  func finish(_ id: WorkerID) {
    guard let peer = peersByID[id] else { return }
    for _ in 0..<(Self.lastBytes / Connection.readShare) {
      // Without a limit each call reads from the socket.
      guard let isOver = try? handleSome(of: peer, atMost: .max), !isOver else { break }
    }
    forget(peer)
  }

  /// Decides about connections whose hello came before their worker's process was known.
  func admitNewcomers() {
    for peer in newcomers.compactMap({ peers[$0] }) {
      guard let hello = peer.hello else { continue }
      peer.hello = nil
      admit(peer, hello.version, hello.token, hello.kinds)
      if peer.hello == nil, !peer.isPostponed { readLater(peer) }
    }
  }

  /// Whether the worker has said anything since the last call.
  func hasSpoken(_ id: WorkerID) -> Bool {
    guard let peer = peersByID[id] else { return false }
    defer { peer.hasSpoken = false }
    return peer.hasSpoken
  }

  // MARK: Connections

  private func cannotAccept(_ error: SystemCallError) {
    if !isShort { log(.trouble, "a worker's connection cannot be accepted now: \(error.explained)") }
    isShort = true
    delegate?.cannotAccept(error)
  }

  /// Throws when the connection cannot be watched; then it is closed.
  private func welcome(_ descriptor: Int32) throws(SystemCallError) {
    let peer = Peer(try Connection(descriptor: descriptor))
    try loop.watch(descriptor, for: .readable) { [weak self, weak peer] in
      guard let self, let peer else { return }
      ready(peer)
    }
    peers[descriptor] = peer
    newcomers.append(descriptor)
    if newcomers.count > Self.mostNewcomers, let oldest = peers[newcomers[0]] { forget(oldest) }
    isShort = false
  }

  private func ready(_ peer: Peer) {
    if peer.connection.unsentBytes > 0 { unflushed.insert(peer.connection.descriptor) }
    if !peer.isPostponed { read(peer) }
  }

  /// Handles a worker's share of a turn.
  private func read(_ peer: Peer) {
    guard !peer.isClosing else { return leave(peer) }
    guard peer.hello == nil else { return }
    peer.hasSpoken = true
    do {
      // Lines after a hello are read when the hello was accepted.
      if try handleSome(of: peer, atMost: peer.id == nil ? 1 : Self.linesPerTurn) { return leave(peer) }
      if peer.connection.hasMore { readLater(peer) }
    } catch {
      delegate?.brokeProtocol(error, peer.id, peer: try? PeerCredentials(of: peer.connection.descriptor))
      refuse(peer, .message)
    }
  }

  private func readLater(_ peer: Peer) {
    peer.isPostponed = true
    loop.inNextTurn { [weak self, weak peer] in
      guard let self, let peer, peers[peer.connection.descriptor] === peer else { return }
      peer.isPostponed = false
      read(peer)
    }
  }

  /// Handles lines that have arrived; `true` when the connection is over.
  private func handleSome(of peer: Peer, atMost limit: Int) throws(MessageError) -> Bool {
    switch try peer.connection.receive(atMost: limit) {
    case .lines(let lines):
      for line in lines { try handle(line, from: peer) }
      return false
    case .closed(let lines):
      for line in lines { try handle(line, from: peer) }
      return true
    }
  }

  /// The connection is over.
  private func leave(_ peer: Peer) {
    let id = peer.id
    forget(peer)
    if let id { delegate?.disconnected(id) }
  }

  private func handle(_ line: String, from peer: Peer) throws(MessageError) {
    guard !peer.isClosing else { return }
    recorder?.record(line, by: .worker)
    let message = try WorkerMessage(line: line)
    if let id = peer.id {
      delegate?.received(message, from: id)
    } else if case .hello(let version, let token, let kinds) = message {
      admit(peer, version, token, kinds)
    } else {
      throw .noHello(verb: String(line.prefix { $0 != " " }))
    }
  }

  private func admit(_ peer: Peer, _ version: Int, _ token: String, _ kinds: [String]) {
    guard let credentials = try? PeerCredentials(of: peer.connection.descriptor), let delegate else {
      return refuse(peer, .token)
    }
    switch delegate.admit(version: version, token: token, kinds: kinds, peer: credentials) {
    case .later: peer.hello = (version, token, kinds)
    case .admitted(let id):
      peer.id = id
      newcomers.removeAll { $0 == peer.connection.descriptor }
      peersByID[id] = peer
      delegate.received(.hello(version: version, token: token, kinds: kinds), from: id)
    case .refused(let refusal):
      refuse(peer, refusal)
    }
  }

  private func refuse(_ peer: Peer, _ refusal: Refusal) {
    let versions = ProtocolVersion.supported
    send(.refused(refusal, lowest: versions.lowerBound, highest: versions.upperBound), to: peer)
    peer.isClosing = true
  }

  private func send(_ message: CoordinatorMessage, to peer: Peer) {
    guard !peer.isClosing else { return }
    peer.connection.send { message.append(to: &$0) }
    if let recorder {
      var bytes: [UInt8] = []
      message.append(to: &bytes)
      recorder.record(bytes, by: .coordinator)
    }
    unflushed.insert(peer.connection.descriptor)
    if peer.connection.unsentBytes > Self.unreadLimit { giveUp(peer) }
  }

  /// A worker that does not read what waits for it would not read a refusal either.
  private func giveUp(_ peer: Peer) {
    log(
      .trouble,
      "the connection to worker \(peer.id.map(\.description) ?? "unknown") is closed: it has left "
        + "\(Self.unreadLimit >> 20) MiB unread")
    peer.isClosing = true
    loop.inNextTurn { [weak self] in self?.leave(peer) }
  }

  /// Writes what waits, as far as the sockets take it.
  func flush() {
    for descriptor in unflushed {
      guard let peer = peers[descriptor] else { continue }
      let isOut = peer.connection.flush()
      if let failure = peer.connection.failure {
        log(.trouble, "the connection to worker \(peer.id.map(\.description) ?? "unknown") is given up: \(failure)")
      }
      loop.setInterest(isOut ? .readable : [.readable, .writable], of: descriptor)
      if isOut, peer.isClosing { leave(peer) }
    }
    unflushed.removeAll(keepingCapacity: true)
  }

  private func forget(_ peer: Peer) {
    let descriptor = peer.connection.descriptor
    guard peers.removeValue(forKey: descriptor) != nil else { return }
    if let id = peer.id { peersByID[id] = nil } else { newcomers.removeAll { $0 == descriptor } }
    loop.unwatch(descriptor)
    peer.connection.close()
  }
}
