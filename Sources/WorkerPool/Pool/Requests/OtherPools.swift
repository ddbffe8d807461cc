import Foundation
import Jobs
import LinuxSystem
import WorkerProtocol

/// The other pools that share the store: asks them, answers them, and passes on what workers of all of them save.
///
/// Requests and replies are those of the status socket. They go through the store, where the server announces them.
final class OtherPools {
  /// A request that waits for the replies of other pools.
  private struct Question {
    /// The pools that have not replied.
    var expected: Set<Int64>
    var replies: [StatusReply] = []
    /// Its number among all notices.
    let number: Int
    let timeout: TimerQueue.Token
    let completion: ([StatusReply]) -> Void
  }

  /// Seconds that other pools have to reply. A pool that died is found dead within eleven.
  static let timeout = 2.0
  /// Bytes of saves that wait to be told. While more wait, further ones are lost, as for a slow observer of a socket.
  private static let backlog = 1 << 20

  private let core: PoolCore
  private let collector: StatusCollector
  private(set) var members: [PoolMember] = []
  private var ownIdentity: Int64 = 0
  private var questions = Tickets<Question>()
  /// Pools that have observers of what is saved.
  private var observers: Set<Int64> = []
  /// What they have not been told yet.
  private var untold: [String] = []
  private var untoldBytes = 0
  private var isTelling = false
  /// How many notices were given to the store, and how many of them it has taken, or refused.
  private var notices = (sent: 0, written: 0)
  /// What the other pools were told to end by, and those that were told.
  private var ending: (request: StatusRequest, told: Set<Int64>)?
  /// Those who wait until the other pools are gone.
  private var whenAlone: [() -> Void] = []
  /// Passes what another pool's worker saved, or which jobs ended there, on to the observers here. Returns whether
  /// there are any.
  var publish: (StatusReply) -> Bool = { _ in false }

  init(_ core: PoolCore, _ collector: StatusCollector) {
    self.core = core
    self.collector = collector
  }

  /// Pools have come or gone.
  func changed(_ members: [PoolMember], ownIdentity: Int64, hasObservers: Bool) {
    let formerMembers = Set(self.members.map(\.identity))
    let living = Set(members.map(\.identity))
    self.members = members
    self.ownIdentity = ownIdentity
    observers.formIntersection(living)
    for (ticket, question) in questions.all {
      questions[ticket]?.expected.formIntersection(living)
      if question.expected.isDisjoint(with: living) { complete(ticket) }
    }
    let new = living.subtracting(formerMembers)
    if hasObservers, !new.isEmpty { send(StatusRequest(.observe), ticket: 0, to: Array(new)) }
    // A pool that had just begun when the others were told.
    if !new.isEmpty { tellToStop(new) }
    if members.isEmpty {
      for body in whenAlone { body() }
      whenAlone = []
    }
  }

  // MARK: Asking

  /// Whether the store had not taken the question that was completed last.
  private(set) var lastQuestionWasUnwritten = false

  /// Asks all other pools, and calls back on the loop with the replies that have come in time.
  ///
  /// - Parameter seconds: if the question is not in the store by then, no reply is waited for. Nil: it is.
  func ask(
    _ request: StatusRequest, writtenWithin seconds: Double? = nil, completion: @escaping ([StatusReply]) -> Void
  ) {
    ask(members.map(\.identity), request, writtenWithin: seconds, completion: completion)
  }

  private func ask(
    _ recipients: [Int64], _ request: StatusRequest, writtenWithin seconds: Double? = nil,
    completion: @escaping ([StatusReply]) -> Void
  ) {
    guard !recipients.isEmpty else { return completion([]) }
    let ticket = questions.next()
    let number = notices.sent + 1
    if let seconds {
      core.loop.timers.after(seconds) { [weak self] in
        if let self, notices.written < number { complete(ticket) }
      }
    }
    let timeout = core.loop.timers.after(Self.timeout) { [weak self] in self?.complete(ticket) }
    questions[ticket] = Question(
      expected: Set(recipients), number: number, timeout: timeout, completion: completion)
    send(request, ticket: Int64(ticket), to: recipients)
  }

  private func complete(_ ticket: Int) {
    guard let question = questions.redeem(ticket) else { return }
    core.loop.timers.cancel(question.timeout)
    lastQuestionWasUnwritten = question.replies.isEmpty && notices.written < question.number
    question.completion(question.replies)
  }

  /// Ends all other pools, also those that come meanwhile. Calls back when they are gone, or after the time: with the
  /// number of those that have ended, and of those that have not.
  func stop(
    _ request: StatusRequest, within seconds: Double, completion: @escaping (_ ended: Int, _ left: Int) -> Void
  ) {
    guard !members.isEmpty else { return completion(0, 0) }
    var isOver = false
    let finish = { [weak self] in
      guard let self, !isOver else { return }
      isOver = true
      completion((ending?.told.count ?? 0) - members.count, members.count)
    }
    whenAlone.append(finish)
    core.loop.timers.after(seconds, finish)
    ending = (StatusRequest(.stop, deadline: request.deadline), ending?.told ?? [])
    tellToStop(Set(members.map(\.identity)))
  }

  private func tellToStop(_ pools: Set<Int64>) {
    guard let ending else { return }
    self.ending?.told.formUnion(pools)
    ask(pools.sorted(), ending.request) { _ in }
  }

  private func send(_ request: StatusRequest, ticket: Int64, to recipients: [Int64]) {
    send(StatusText.json(request), ticket: ticket, isReply: false, to: recipients)
  }

  private func send(_ text: String, ticket: Int64, isReply: Bool, to recipients: [Int64]) {
    notices.sent += 1
    core.source.send(PoolNotice(sender: ownIdentity, ticket: ticket, isReply: isReply, text: text), to: recipients)
  }

  // MARK: Being told

  func handle(_ notices: [PoolNotice]) {
    for notice in notices {
      if !notice.isReply {
        answer(notice)
      } else if notice.ticket == 0 {
        published(notice)
      } else if let reply = decoded(StatusReply.self, notice.text) {
        let ticket = Int(notice.ticket)
        questions[ticket]?.replies.append(reply)
        questions[ticket]?.expected.remove(notice.sender)
        if questions[ticket]?.expected.isEmpty == true { complete(ticket) }
      }
    }
  }

  private func decoded<T: Decodable>(_ type: T.Type, _ text: some StringProtocol) -> T? {
    // A pool of a later version may write what this one cannot read: its notice is passed over.
    try? JSONDecoder().decode(type, from: Data(text.utf8))
  }

  /// Another pool asks.
  private func answer(_ notice: PoolNotice) {
    guard let request = decoded(StatusRequest.self, notice.text) else { return }
    var reply = StatusReply()
    switch request.command {
    case .status: return collector.collectHere { [weak self] in self?.reply(StatusReply(status: $0), to: notice) }
    case .observe: if request.count == 0 { observers.remove(notice.sender) } else { observers.insert(notice.sender) }
    case .cancel:
      let jobs = (request.jobs ?? []).compactMap { ObjectURI($0) }.compactMap(core.coordinator.jobURIs.key)
      let inHand = jobs.filter { core.coordinator.hands.jobs[$0] != nil }
      core.coordinator.now = Clock.now
      for job in inHand { core.coordinator.cancel(job) }
      reply.count = inHand.count
    case .stop: core.stopAsTold(request.deadline ?? core.configuration.stopDeadline)
    default: reply = StatusReply(ok: false, error: "another pool may not ask for \(request.command.rawValue)")
    }
    self.reply(reply, to: notice)
  }

  private func reply(_ reply: StatusReply, to notice: PoolNotice) {
    guard notice.ticket != 0 else { return }
    send(StatusText.json(reply), ticket: notice.ticket, isReply: true, to: [notice.sender])
  }

  private func published(_ notice: PoolNotice) {
    var isWanted = true
    for line in notice.text.split(separator: "\n") {
      if let event = decoded(StatusReply.self, line) { isWanted = publish(event) }
    }
    if !isWanted { send(StatusRequest(.observe, count: 0), ticket: 0, to: [notice.sender]) }
  }

  // MARK: Telling

  /// Tells the pools that have observers what happened here.
  func tell(_ event: @autoclosure () -> StatusReply) {
    guard !observers.isEmpty, untoldBytes < Self.backlog else { return }
    let text = StatusText.json(event())
    untold.append(text)
    untoldBytes += text.utf8.count
    flush()
  }

  /// What was sent before is in the store.
  func sent() {
    notices.written += 1
    isTelling = false
    flush()
  }

  private func flush() {
    guard !isTelling, !untold.isEmpty else { return }
    isTelling = true
    send(untold.joined(separator: "\n"), ticket: 0, isReply: true, to: observers.sorted())
    untold = []
    untoldBytes = 0
  }
}
