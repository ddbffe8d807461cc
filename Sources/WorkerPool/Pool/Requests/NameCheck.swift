import Jobs

/// Finds the names that nobody in the pool knows: of kinds, plugins, queues and batches.
extension PoolServer {
  /// Tells an asker which of the names in the request the pool does not know.
  func check(_ request: StatusRequest, _ client: StatusServer.Client) {
    var unknown: [StatusReply.UnknownName] = []
    if let kind = request.kind { unknown += unknownKind(kind) }
    if let plugin = request.plugin, let name = self.unknown("plugin", plugin, among: supervisor.plugins.map(\.name)) {
      unknown.append(name)
    }
    guard request.queue != nil || request.batch != nil else { return client.reply(StatusReply(unknown: unknown)) }
    lastTicket += 1
    nameAskers[lastTicket] = NameAsker(request: request, client: client, unknown: unknown)
    source.findNames(
      queue: request.queue, batch: request.batch, kinds: coordinator.kinds.keys.sorted(), ticket: lastTicket)
  }

  /// Somebody who waits for what the store knows of names.
  struct NameAsker {
    let request: StatusRequest
    let client: StatusServer.Client
    var unknown: [StatusReply.UnknownName]
  }

  func foundNames(_ ticket: Int, _ names: KnownNames) {
    guard var asker = nameAskers.removeValue(forKey: ticket) else { return }
    if let queue = asker.request.queue {
      let known = [JobRequest.defaultQueue] + configuration.queueWeights.keys + coordinator.pauses.queues + names.queues
      if let name = unknown("queue", queue, among: known) { asker.unknown.append(name) }
    }
    if let batch = asker.request.batch, let name = unknown("batch", batch, among: names.batches) {
      asker.unknown.append(name)
    }
    asker.client.reply(StatusReply(unknown: asker.unknown))
  }

  /// While no plugin is known, nobody can say which kinds there are.
  private func unknownKind(_ kind: String) -> [StatusReply.UnknownName] {
    let kinds = supervisor.plugins.flatMap(\.description.kinds).map(\.kind)
    if kinds.isEmpty { return [] }
    guard let name = unknown("kind", kind, among: kinds + coordinator.pauses.kinds) else { return [] }
    // A plugin that cannot be used now may run it.
    return name.nearest == nil && !supervisor.failures.isEmpty ? [] : [name]
  }

  private func unknown(_ what: String, _ name: String, among known: [String]) -> StatusReply.UnknownName? {
    guard !known.contains(name) else { return nil }
    return StatusReply.UnknownName(what: what, name: name, nearest: Spelling.nearest(to: name, among: known))
  }

  /// Says which names in the options of the pool no plugin knows. Each is said once.
  func tellUnknownOptions() {
    let kinds = supervisor.plugins.flatMap(\.description.kinds).map(\.kind)
    guard !kinds.isEmpty else { return }
    let options = [
      ("--limit", configuration.kindLimits.keys.sorted()), ("--rate", configuration.kindRates.keys.sorted()),
    ]
    for (option, names) in options {
      for kind in names {
        guard let name = unknown("kind", kind, among: kinds), toldOptions.insert("\(option) \(kind)").inserted
        else { continue }
        log(.optionUnknown, "\(option) \(kind): no plugin runs the kind \(kind)\(name.hint)")
      }
    }
  }
}

extension StatusReply.UnknownName {
  /// What was probably meant, at the end of a sentence.
  public var hint: String { nearest.map { "; did you mean \($0)?" } ?? "" }
}
