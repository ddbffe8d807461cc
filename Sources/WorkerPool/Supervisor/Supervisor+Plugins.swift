import LinuxSystem
import WorkerProtocol

/// Which plugins there are, and which of them can be used.
extension Supervisor {
  /// Finds the plugins and starts processes. A further call searches for plugins again: new ones are added, processes
  /// of the old ones are replaced one by one as they finish their work, and plugins that were given up get another
  /// chance.
  func reload() {
    guard !stopping else { return }
    let former = discovery
    endDiscovery()
    discovery = PluginDiscovery(
      directories: configuration.pluginDirectories, former: former, environment: configuration.environment,
      confinement: configuration.confinement, patience: configuration.patience, loop: loop, starter: starter,
      listed: { [weak self] in self?.forgetPluginsThatAreGone() }
    ) { [weak self] news in
      guard let self, !stopping else { return }
      take(news)
    }
  }

  /// Asks no plugin any more.
  func endDiscovery() {
    formerDiscoveries.removeAll { $0.processes.isEmpty }
    guard let discovery else { return }
    discovery.stop()
    formerDiscoveries.append(discovery)
    self.discovery = nil
  }

  /// Plugins whose jobs can be run: those that can be started, and those that still have a process.
  var usablePlugins: [Plugin] {
    plugins.filter { plugin in
      failures[plugin.name] == nil || workers.stayingCount(of: plugin.name) > 0
    }
  }

  /// Plugins that have not told yet which kinds they run, with how long they have been asked; nil for those that are
  /// asked again later.
  var unknownPlugins: [String: Double?] {
    (discovery?.unanswered ?? [:]).filter { name, _ in !plugins.contains { $0.name == name } }
  }

  /// Whether each plugin has been asked, and has answered or failed to.
  var hasAskedAll: Bool { discovery?.isFirstRoundOver == true }

  func endIfNothingCanBeStarted() {
    // A file system that hangs may answer again, and so may a plugin that did not describe itself in time. A file that
    // is being replaced comes back. A pool that once had plugins waits for the next `reload`.
    guard !stopping, workers.isEmpty, !plugins.isEmpty || !hasHadPlugins, !failures.values.contains(where: \.isHang),
      discovery?.unanswered.isEmpty ?? true, discovery?.hasSilentDirectories != true
    else { return }
    if plugins.allSatisfy({ failures[$0.name] != nil }) { delegate?.nothingCanBeStarted() }
  }

  /// Forgets plugins that no directory lists, and did not at the `reload` before, either.
  private func forgetPluginsThatAreGone() {
    guard !stopping, let discovery else { return }
    let isGone = { (name: String) in !discovery.mayHave(name) }
    for name in failures.keys where isGone(name) { failures[name] = nil }
    let count = plugins.count
    for plugin in plugins where isGone(plugin.name) {
      let text = "plugin \(plugin.name) is forgotten: its file \(plugin.path) is still missing; its processes end"
      log(.pluginFailed, text, .plugin(plugin.name))
    }
    plugins.removeAll { isGone($0.name) }
    guard plugins.count < count else { return }
    delegate?.pluginsChanged(usablePlugins)
    drainForgotten()
    rebalance()
  }

  private func drainForgotten() {
    for worker in workers.values where !plugins.contains(where: { $0.name == worker.plugin.name }) {
      apply(.drain, to: worker)
    }
  }

  private func take(_ news: PluginDiscovery.News) {
    orphans?.end()
    formerDiscoveries.removeAll { $0.processes.isEmpty }
    for (name, failure) in news.failures.sorted(by: { $0.key < $1.key }) { note(failure, of: name) }
    if !news.plugins.isEmpty { hasHadPlugins = true }
    for plugin in news.plugins {
      plugins.removeAll { $0.name == plugin.name }
      plugins.append(plugin)
      failures[plugin.name] = nil
      policies[plugin.name] = nil
      let kinds = plugin.description.kinds.map(\.kind).joined(separator: ", ")
      log(.pluginFound, "plugin \(plugin.name) \(plugin.description.version): \(kinds)", .plugin(plugin.name))
      for key in plugin.unknownKeys {
        let text = "plugin \(plugin.name) describes \"\(key)\", which this pool does not know and leaves out"
        log(.trouble, text, .plugin(plugin.name))
      }
    }
    plugins.sort { $0.name < $1.name }
    for directory in news.silentDirectories {
      log(
        .trouble,
        "\(PluginDiscovery.subject(directory)) has not answered for \(Clock.text(configuration.patience.first)): its "
          + "plugins stay as they were, and it is still waited for", .path(directory))
    }
    if news.endsFirstRound { tellMissing() }
    delegate?.pluginsChanged(usablePlugins)
    for worker in workers.values {
      guard let plugin = news.plugins.first(where: { $0.name == worker.plugin.name }) else { continue }
      // Its processes stay, unless the plugin has changed since the program before this one found it.
      if !adoptedPlugins.contains(plugin.name) || worker.plugin != plugin { worker.becameOutdated(in: &workers) }
    }
    adoptedPlugins.subtract(news.plugins.map(\.name))
    drainForgotten()
    rebalance()
    endIfNothingCanBeStarted()
  }

  /// A plugin cannot be used. One that has described itself before keeps that description.
  private func note(_ failure: StartFailure, of name: String) {
    let isKnown = plugins.contains { $0.name == name }
    if isKnown, discovery?.awaits(name) == true || !failure.mayPass { return isAway(name, failure) }
    let again = failure.mayPass ? "; it is asked again until it answers" : ""
    let isToldAlready = failure.mayPass && failures[name]?.mayPass == true
    if !isToldAlready { log(.pluginFailed, "plugin \(name): \(failure)\(again)", .plugin(name)) }
    if !isKnown { failures[name] = failure }
  }

  /// A plugin that has described itself before cannot be started now: its file is missing, not whole, or of no use. It
  /// is being replaced, and is waited for, while the processes of the former file go on.
  func isAway(_ name: String, _ failure: StartFailure) {
    guard plugins.contains(where: { $0.name == name }) else { return }
    if failures[name] == nil {
      log(.pluginFailed, "plugin \(name): \(failure); it is asked again until it answers", .plugin(name))
    }
    failures[name] = failure
    discovery?.awaitFile(of: name)
    delegate?.pluginsChanged(usablePlugins)
  }

  private func tellMissing() {
    if plugins.isEmpty, unknownPlugins.isEmpty, discovery?.hasSilentDirectories != true {
      log(.pluginsMissing, "no plugins in \(configuration.pluginDirectories.joined(separator: ", "))")
    }
    for name in configuration.fixedWorkers.keys.sorted()
    where failures[name] == nil && !plugins.contains(where: { $0.name == name }) {
      let names = plugins.map(\.name).joined(separator: ", ")
      log(.trouble, "--workers names the unknown plugin \(name); known plugins: \(names)", .plugin(name))
    }
  }
}
