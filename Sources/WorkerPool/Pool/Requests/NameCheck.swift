import Jobs

/// Finds names of kinds, plugins, queues and batches that the pool does not know.
final class NameCheck {
  /// A check that goes on when the store has compared the names.
  private struct PendingCheck {
    let request: StatusRequest
    let client: StatusServer.Client
    var unknown: [StatusReply.UnknownName]
  }

  private let core: PoolCore
  private let supervisor: Supervisor
  private var pending = Tickets<PendingCheck>()
  /// The kinds of the periodic entries, by their names.
  private var periodicKinds: [String: String] = [:]
  /// Options and entries with unknown kinds that were logged.
  private var toldOptions: Set<String> = []

  init(_ core: PoolCore, _ supervisor: Supervisor) {
    self.core = core
    self.supervisor = supervisor
  }

  /// Tells a client which of the names in its request the pool does not know.
  func check(_ request: StatusRequest, _ client: StatusServer.Client) {
    var unknown: [StatusReply.UnknownName] = []
    if let kind = request.kind { unknown += unknownKind(kind) }
    if let plugin = request.plugin,
      let name = self.unknown("plugin", plugin, among: supervisor.plugins.map(\.name) + supervisor.unknownPlugins.keys)
    {
      unknown.append(name)
    }
    guard request.queue != nil || request.batch != nil else { return client.reply(StatusReply(unknown: unknown)) }
    core.source.findNames(
      queue: request.queue, batch: request.batch, kinds: core.coordinator.kinds.keys.sorted(),
      ticket: pending.issue(to: PendingCheck(request: request, client: client, unknown: unknown)))
  }

  /// The store knows these names, near or equal to those that were asked for.
  func found(_ ticket: Int, _ names: KnownNames) {
    guard var check = pending.redeem(ticket) else { return }
    if let queue = check.request.queue {
      let known =
        [JobRequest.defaultQueue] + core.configuration.queueWeights.keys + core.coordinator.pauses.queues
        + names.queues
      if let name = unknown("queue", queue, among: known) { check.unknown.append(name) }
    }
    if let batch = check.request.batch, let name = unknown("batch", batch, among: names.batches) {
      check.unknown.append(name)
    }
    check.client.reply(StatusReply(unknown: check.unknown))
  }

  /// The kinds that plugins run.
  private var kinds: [String] { supervisor.plugins.flatMap(\.description.kinds).map(\.kind) }

  /// While no plugin is known, or the kinds of one are not, no kind counts as unknown.
  private func unknownKind(_ kind: String) -> [StatusReply.UnknownName] {
    let kinds = kinds
    if kinds.isEmpty || !supervisor.unknownPlugins.isEmpty { return [] }
    guard let name = unknown("kind", kind, among: kinds + core.coordinator.pauses.kinds) else { return [] }
    // A plugin that cannot be used now may run it.
    return name.nearest == nil && !supervisor.failures.isEmpty ? [] : [name]
  }

  private func unknown(_ what: String, _ name: String, among known: [String]) -> StatusReply.UnknownName? {
    guard !known.contains(name) else { return nil }
    // Queues and batches are numbered: a customer's, a page's. Such a name is a new one.
    let known = ["queue", "batch"].contains(what) ? known.filter { !Self.differInNumbersOnly($0, name) } : known
    return StatusReply.UnknownName(what: what, name: name, nearest: Spelling.nearest(to: name, among: known))
  }

  private static func differInNumbersOnly(_ one: String, _ other: String) -> Bool {
    one.replacing(#/[0-9]+/#, with: "0") == other.replacing(#/[0-9]+/#, with: "0")
  }

  /// Says which periodic entries have kinds that no plugin runs.
  func checkPeriodic(_ kinds: [String: String]) {
    periodicKinds = kinds
    tellUnknownOptions()
  }

  /// Says which names in the options of the pool, and in its periodic entries, no plugin knows. Each is said once.
  func tellUnknownOptions() {
    let kinds = kinds
    guard !kinds.isEmpty, supervisor.unknownPlugins.isEmpty else { return }
    let options = [
      ("--limit", core.configuration.kindLimits.keys.sorted()), ("--rate", core.configuration.kindRates.keys.sorted()),
    ]
    for (option, names) in options {
      for kind in names {
        guard let name = unknown("kind", kind, among: kinds), toldOptions.insert("\(option) \(kind)").inserted
        else { continue }
        core.log(.optionUnknown, "\(option) \(kind): no plugin runs the kind \(kind)\(name.hint)")
      }
    }
    for (entry, kind) in periodicKinds.sorted(by: { $0.key < $1.key }) {
      let file = "periodic/\(entry).json"
      guard let name = unknown("kind", kind, among: kinds), toldOptions.insert("\(file) \(kind)").inserted
      else { continue }
      core.log(.optionUnknown, "\(file): no plugin runs the kind \(kind), so its jobs would wait\(name.hint)")
    }
  }
}

extension StatusReply.UnknownName {
  /// The known name that was probably meant, as the end of a sentence: "; did you mean NAME?". Empty when no known name
  /// is near.
  public var hint: String { Spelling.hint(nearest) }
}
