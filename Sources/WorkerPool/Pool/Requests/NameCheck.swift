import Jobs

/// Finds names of kinds, plugins, queues and batches that the pool does not know.
final class NameCheck {
  private let core: PoolCore
  private let supervisor: Supervisor
  /// Checks that go on when the store has looked for the names, with those that are unknown already.
  private var pending = Tickets<(client: StatusServer.Client, unknown: [UnknownName])>()
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
    var unknown = [request.kind.flatMap(unknownKind)].compactMap(\.self)
    if let name = request.plugin.flatMap(unknownPlugin) { unknown.append(name) }
    var asked: [AskedName] = []
    if let queue = request.queue {
      let queues = [JobRequest.defaultQueue] + core.configuration.queueWeights.keys + core.coordinator.pauses.queues
      asked.append(AskedName(what: .queue, name: queue, knownNames: queues))
    }
    if let batch = request.batch { asked.append(AskedName(what: .batch, name: batch)) }
    guard !asked.isEmpty else { return client.reply(StatusReply(unknown: unknown)) }
    core.source.findNames(asked, ticket: pending.issue(to: (client, unknown)))
  }

  /// The store has no job with these names.
  func found(_ ticket: Int, unknown: [UnknownName]) {
    guard let check = pending.redeem(ticket) else { return }
    check.client.reply(StatusReply(unknown: check.unknown + unknown))
  }

  /// The kinds that plugins run.
  private var kinds: [String] { supervisor.plugins.flatMap(\.description.kinds).map(\.kind) }

  /// The plugins, with those that have not described themselves.
  var plugins: [String] { supervisor.plugins.map(\.name) + supervisor.unknownPlugins.keys.sorted() }

  /// The error of a name that no plugin has.
  func unknownPlugin(_ plugin: String) -> UnknownName? { UnknownName("plugin", plugin, among: plugins) }

  /// While no plugin is known, or the kinds of one are not, no kind counts as unknown.
  private func unknownKind(_ kind: String) -> UnknownName? {
    let kinds = kinds
    if kinds.isEmpty || !supervisor.unknownPlugins.isEmpty { return nil }
    guard let name = UnknownName("kind", kind, among: kinds + core.coordinator.pauses.kinds) else { return nil }
    // A plugin that cannot be used now may run it.
    return name.nearest == nil && !supervisor.failures.isEmpty ? nil : name
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
      ("--job-cpu", core.configuration.kindProcessorTimes.keys.sorted()),
    ]
    for (option, names) in options {
      for kind in names {
        guard let name = UnknownName("kind", kind, among: kinds), toldOptions.insert("\(option) \(kind)").inserted
        else { continue }
        core.log(.optionUnknown, "\(option) \(kind): no plugin runs the kind \(kind)\(name.hint)")
      }
    }
    for (entry, kind) in periodicKinds.sorted(by: { $0.key < $1.key }) {
      let file = "periodic/\(entry).json"
      guard let name = UnknownName("kind", kind, among: kinds), toldOptions.insert("\(file) \(kind)").inserted
      else { continue }
      core.log(.optionUnknown, "\(file): no plugin runs the kind \(kind), so its jobs would wait\(name.hint)")
    }
  }
}
