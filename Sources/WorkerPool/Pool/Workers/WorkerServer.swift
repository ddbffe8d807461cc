import WorkerProtocol

/// Receives what comes through the connections of workers. All calls come on the loop.
protocol WorkerServerDelegate: AnyObject {
  /// The first message of a worker is a hello.
  func received(_ message: WorkerMessage, from id: WorkerID)
  /// The worker sent something that is no message, or no hello first. Its connection is closed next.
  func brokeProtocol(_ error: MessageError, _ id: WorkerID)
  /// The worker closed its connection, or the server closed it because of what the worker sent.
  func disconnected(_ id: WorkerID)
}

/// The connections of workers: turns lines into messages and messages into lines.
///
/// What is sent is gathered until `flush`, which writes it once for each turn of the loop.
final class WorkerServer {
  /// A worker's connection.
  private final class Peer {
    let connection: Connection
    let id: WorkerID
    var hasGreeted = false
    var isClosing = false
    /// It has sent something since the last call of `hasSpoken`.
    var hasSpoken = false
    /// Lines of it wait for the next turn.
    var isPostponed = false

    init(_ connection: Connection, _ id: WorkerID) {
      self.connection = connection
      self.id = id
    }
  }

  /// Bytes that may wait for a worker. While more wait, it gets no `SAVED` lines.
  static let savedBacklog = 1 << 20
  /// Bytes that may wait for a worker. When more wait, its connection is closed.
  static let unreadLimit = 16 << 20
  /// Lines of one worker that are handled in one turn.
  static let linesPerTurn = 256
  /// Bytes that are read from a dead worker: more than its socket holds. There is a limit because a process that it
  /// started may go on writing.
  static let lastBytes = 1 << 20

  private let loop: EventLoop
  private let log: Log
  private let recorder: ConversationRecorder?
  private var peers: [WorkerID: Peer] = [:]
  private var unflushed: Set<WorkerID> = []
  weak var delegate: WorkerServerDelegate?

  init(loop: EventLoop, log: Log, recorder: ConversationRecorder? = nil) {
    self.loop = loop
    self.log = log
    self.recorder = recorder
  }

  deinit {
    for peer in peers.values { loop.unwatch(peer.connection.descriptor) }
  }

  /// Listens to a worker from now on. Throws when its connection cannot be watched.
  func add(_ connection: Connection, of id: WorkerID) throws(SystemCallError) {
    let peer = Peer(connection, id)
    try loop.watch(connection.descriptor, for: .readable) { [weak self, weak peer] in
      guard let self, let peer else { return }
      ready(peer)
    }
    peers[id] = peer
  }

  /// Goes on with the conversation that the program before this one has begun.
  func adopt(_ connection: Connection, of id: WorkerID) throws(SystemCallError) {
    try add(connection, of: id)
    guard let peer = peers[id] else { return }
    peer.hasGreeted = true
    if connection.hasMore { readLater(peer) }
    if connection.unsentBytes > 0 { unflushed.insert(id) }
  }

  /// The socket of a worker, and what is in memory of the conversation; nil where it is at its end.
  func buffers(of id: WorkerID) -> (socket: Int32, Connection.Buffers)? {
    guard let peer = peers[id], peer.hasGreeted, !peer.isClosing, let buffers = peer.connection.buffers else {
      return nil
    }
    return (peer.connection.descriptor, buffers)
  }

  /// Sends a message with the next `flush`. A worker that is gone gets nothing.
  func send(_ message: CoordinatorMessage, to id: WorkerID) {
    guard let peer = peers[id] else { return }
    if case .saved = message, peer.connection.unsentBytes > Self.savedBacklog { return }
    send(message, to: peer)
  }

  /// Tells the worker that it is refused and closes the connection.
  func dismiss(_ id: WorkerID, _ refusal: Refusal) {
    guard let peer = peers[id] else { return }
    refuse(peer, refusal)
  }

  /// Reads what a worker had sent before it died, and closes its connection.
  func finish(_ id: WorkerID) {
    guard let peer = peers[id] else { return }
    for _ in 0..<(Self.lastBytes / Connection.readShare) {
      // Without a limit each call reads from the socket.
      guard let isOver = try? handleSome(of: peer, atMost: .max), !isOver else { break }
    }
    forget(peer)
  }

  /// Whether the worker has said anything since the last call.
  func hasSpoken(_ id: WorkerID) -> Bool {
    guard let peer = peers[id] else { return false }
    defer { peer.hasSpoken = false }
    return peer.hasSpoken
  }

  // MARK: Connections

  private func ready(_ peer: Peer) {
    if peer.connection.unsentBytes > 0 { unflushed.insert(peer.id) }
    if !peer.isPostponed { read(peer) }
  }

  /// Handles a worker's share of a turn.
  private func read(_ peer: Peer) {
    guard !peer.isClosing else { return leave(peer) }
    peer.hasSpoken = true
    do {
      if try handleSome(of: peer, atMost: Self.linesPerTurn) { return leave(peer) }
      if peer.connection.hasMore { readLater(peer) }
    } catch {
      delegate?.brokeProtocol(error, peer.id)
      refuse(peer, .message)
    }
  }

  private func readLater(_ peer: Peer) {
    peer.isPostponed = true
    loop.inNextTurn { [weak self, weak peer] in
      guard let self, let peer, peers[peer.id] === peer else { return }
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
    forget(peer)
    delegate?.disconnected(peer.id)
  }

  private func handle(_ line: String, from peer: Peer) throws(MessageError) {
    guard !peer.isClosing else { return }
    recorder?.record(line, by: .worker)
    let message = try WorkerMessage(line: line)
    if !peer.hasGreeted {
      guard case .hello = message else { throw .noHello(verb: String(line.prefix { $0 != " " })) }
      peer.hasGreeted = true
    }
    delegate?.received(message, from: peer.id)
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
    unflushed.insert(peer.id)
    if peer.connection.unsentBytes > Self.unreadLimit { giveUp(peer) }
  }

  /// A worker that does not read what waits for it would not read a refusal either.
  private func giveUp(_ peer: Peer) {
    log(
      .trouble,
      "the connection to worker \(peer.id) is closed: it has left "
        + "\(Self.unreadLimit >> 20) MiB unread")
    peer.isClosing = true
    loop.inNextTurn { [weak self] in self?.leave(peer) }
  }

  /// Writes what waits, as far as the sockets take it.
  func flush() {
    for id in unflushed {
      guard let peer = peers[id] else { continue }
      let isOut = peer.connection.flush()
      if let failure = peer.connection.failure {
        log(.trouble, "the connection to worker \(peer.id) is given up: \(failure)")
      }
      loop.setInterest(isOut ? .readable : [.readable, .writable], of: peer.connection.descriptor)
      if isOut, peer.isClosing { leave(peer) }
    }
    unflushed.removeAll(keepingCapacity: true)
  }

  private func forget(_ peer: Peer) {
    guard peers.removeValue(forKey: peer.id) != nil else { return }
    loop.unwatch(peer.connection.descriptor)
    peer.connection.close()
  }
}
