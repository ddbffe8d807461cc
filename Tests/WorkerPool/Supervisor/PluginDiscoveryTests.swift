import Foundation
import Glibc
import TestFiles
import Testing

@testable import WorkerPool

/// What files of plugins say of themselves, and that none of them keeps the others.
@Suite(.ownThreads) struct PluginDiscoveryTests {
  @Test func aFileThatCannotBeExecutedIsNamed() throws {
    let directory = temporaryURL("plugins")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let file = directory.appendingPathComponent("worker-broken")
    try Data("nothing".utf8).write(to: file)
    // A link that leads nowhere is a mistake, so it is reported; a directory is no plugin.
    let link = directory.appendingPathComponent("worker-lost").path
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "/nowhere")
    #expect(mkdir(directory.path + "/worker-folder", 0o700) == 0)
    let result = try discover(in: directory)
    #expect(
      result.failures == [
        "broken": .notExecutable(path: file.path, reason: "Permission denied"),
        "lost": .notExecutable(path: link, reason: "No such file or directory"),
      ])
  }

  @Test(
    "A description that cannot be used is rejected with the key to blame",
    arguments: [
      (
        #"{"name":"a","version":"1","protocolVersions":[2],"kinds":[{"kind":"a","timeout":"long"}]}"#, "kinds.0.timeout"
      ),
      (#"{"name":"a","version":"1","protocolVersions":[2],"kinds":[{"kind":"a","limit":"1"}]}"#, "kinds.0.limit"),
      (#"{"name":"a","version":"1","protocolVersions":[2],"kinds":[{"kind":"a"},{"limit":1}]}"#, "kinds.1.kind"),
      (#"{"name":"a","version":"1","kinds":[{"kind":"a"}]}"#, "protocolVersions"),
    ])
  func aBadDescriptionNamesItsKey(json: String, key: String) throws {
    let failures = try discover(script: "echo '\(json)'", name: "a").failures
    let reason = try #require(failures["a"]).description
    #expect(reason.contains("worker-a describe: \"\(key)\" "), "\(reason)")
  }

  @Test func aMistypedKeyIsNamedAndThePluginIsUsed() throws {
    let json =
      #"{"name":"a","version":"1","protocolVersions":[2],"#
      + #""kinds":[{"kind":"a","timout":3,"rate":{"jobs":1,"period":2,"x":1}}],"need":{}}"#
    let plugins = try discover(script: "echo '\(json)'", name: "a").plugins
    #expect(plugins.map(\.unknownKeys) == [["need", "kinds.0.timout", "kinds.0.rate.x"]])
  }

  @Test(arguments: [
    ("hello", "it printed \"hello\"; one JSON object is expected"),
    ("", "it printed nothing; one JSON object is expected"),
    (
      #"{"name":"a","version":"1","protocolVersions":[2],"kinds":[{"kind":"a","timeout":"60"}]}"#,
      "\"kinds.0.timeout\" is not a number"
    ),
    (
      #"{"name":"a","version":"1","protocolVersions":1,"kinds":[{"kind":"a"}]}"#, "\"protocolVersions\" is not an array"
    ),
  ])
  func aDescriptionThatCannotBeReadSaysWhatIsExpected(output: String, reason: String) throws {
    let script = output.isEmpty ? "exit 0" : "echo '\(output)'"
    let failures = try discover(script: script, name: "a").failures
    #expect(try #require(failures["a"]).description.hasSuffix("worker-a describe: \(reason)"))
  }

  @Test func aDescriptionWithAFractionOfAJobIsRejected() throws {
    let json = #"{"name":"a","version":"1","protocolVersions":[2],"kinds":[{"kind":"a","limit":1.5}]}"#
    let failures = try discover(script: "echo '\(json)'", name: "a").failures
    let reason = try #require(failures["a"]).description
    #expect(reason.contains("a number with a fraction where a whole one is expected"), "\(reason)")
  }

  @Test func aDescriptionOfAnotherNameThanTheFilesIsRejected() throws {
    let json = #"{"name":"b","version":"1","protocolVersions":[2],"kinds":[{"kind":"a"}]}"#
    let failures = try discover(script: "echo '\(json)'", name: "a").failures
    let reason = try #require(failures["a"]).description
    #expect(reason.hasSuffix(#"it gives the name "b"; its file says that its name is "a""#), "\(reason)")
  }

  private func discover(in directory: URL) throws -> PluginDiscovery.News {
    let loop = try EventLoop()
    var result = PluginDiscovery.News()
    let starter = try ProcessStarter(loop: loop)
    let discovery = PluginDiscovery(directories: [directory.path], environment: [:], loop: loop, starter: starter) {
      [unowned loop] in
      result = $0
      loop.stop()
    }
    loop.run()
    withExtendedLifetime(discovery) {}
    return result
  }

  @Test func aPluginThatIsKilledWhileItDescribesItselfIsAskedAgain() throws {
    let directory = temporaryURL("plugins")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let file = directory.appendingPathComponent("worker-victim")
    let description = #"{"name":"victim","version":"1","protocolVersions":[2],"kinds":[{"kind":"a"}]}"#
    let script =
      "#!/bin/sh\n[ -e \(file.path).asked ] || { : > \(file.path).asked; kill -9 $$; }\necho '\(description)'\n"
    try Data(script.utf8).write(to: file)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file.path)
    let result = try discover(in: directory)
    #expect(result.plugins.map(\.name) == ["victim"] && result.failures.isEmpty)
  }

  /// As while a new version is copied over the old one.
  @Test func aPluginWhoseFileIsStillBeingWrittenIsAskedAgain() throws {
    let directory = temporaryURL("plugins")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let file = directory.appendingPathComponent("worker-fake").path
    try FileManager.default.copyItem(atPath: PoolHarness.fakeWorker, toPath: file)
    let writer = open(file, O_WRONLY | O_CLOEXEC)
    let loop = try EventLoop()
    var news = PluginDiscovery.News()
    let discovery = PluginDiscovery(
      directories: [directory.path], environment: [:],
      patience: .init(together: 0.01, pause: 0.01, longestPause: 0.01, retryDelay: 0.001), loop: loop,
      starter: try ProcessStarter(loop: loop)
    ) { news = $0 }
    while news.failures.isEmpty { loop.turn(milliseconds: 1000) }
    try #require(news.failures == ["fake": .shortage("its file is open for writing")])
    close(writer)
    while news.plugins.isEmpty { loop.turn(milliseconds: 1000) }
    #expect(news.plugins.map(\.name) == ["fake"] && discovery.unanswered.isEmpty)
  }

  private func discover(script: String, name: String) throws -> PluginDiscovery.News {
    let directory = temporaryURL("plugins")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let file = directory.appendingPathComponent("worker-\(name)")
    try Data("#!/bin/sh\n\(script)\n".utf8).write(to: file)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file.path)
    return try discover(in: directory)
  }

  @Test(arguments: ["exec yes '{'", "exec yes >&2", "exec tr '\\0' x < /dev/zero"])
  func aPluginThatDescribesItselfWithoutEndIsStoppedAndToldApart(script: String) throws {
    let clock = ContinuousClock()
    var result = PluginDiscovery.News()
    let time = try clock.measure { result = try discover(script: script, name: "flood") }
    #expect(result.plugins.isEmpty)
    #expect(result.failures["flood"]?.description.hasSuffix("it printed more than 1 MiB") == true, "\(result.failures)")
    #expect(time < .seconds(PluginDiscovery.Patience().first))
  }

  @Test func aLongDescriptionIsReadWhole() throws {
    let script = """
      kinds=$(seq -s, 1 2000 | sed 's/[0-9]*/{"kind":"k&"}/g')
      printf '{"name":"long","version":"1","protocolVersions":[2],"kinds":[%s]}' "$kinds"
      """
    let result = try discover(script: script, name: "long")
    #expect(result.plugins.first?.description.kinds.count == 2000, "\(result.failures)")
  }
}

/// Plugins that do not describe themselves until a test lets them.
@Suite(.ownThreads) struct LatePluginTests {
  private let directory: URL

  init() throws {
    directory = temporaryURL("late")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  }

  /// The plugin of this name answers once this has been called.
  private func letAnswer(_ name: String) throws {
    try Data().write(to: directory.appendingPathComponent(name + ".go"))
  }

  private func keepFromAnswering(_ name: String) throws {
    try FileManager.default.removeItem(at: directory.appendingPathComponent(name + ".go"))
  }

  /// A fake worker that describes itself only when it may.
  private func makePlugin(_ name: String, in folder: String) throws {
    let go = directory.appendingPathComponent(name + ".go").path
    let script = """
      #!/bin/bash
      if [ "$1" = describe ] && [ ! -e '\(go)' ]; then exec sleep 100000; fi
      exec -a "$0" '\(PoolHarness.fakeWorker)' "$@"
      """
    let path = folder + "/worker-" + name
    try Data(script.utf8).write(to: URL(fileURLWithPath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
  }

  private static let patience = PluginDiscovery.Patience(
    together: 0.05, first: 0.2, longest: 10, pause: 0.01, longestPause: 0.05, retryDelay: 0.01)

  @Test func aPluginThatDoesNotAnswerInTimeIsAskedUntilItDoes() throws {
    defer { try? FileManager.default.removeItem(at: directory) }
    try makePlugin("late", in: directory.path)
    let path = directory.path + "/worker-late"
    let loop = try EventLoop()
    var news: [PluginDiscovery.News] = []
    let discovery = PluginDiscovery(
      directories: [directory.path], environment: [:], patience: Self.patience, loop: loop,
      starter: try ProcessStarter(loop: loop)
    ) { news.append($0) }
    while news.count < 2 { loop.turn(milliseconds: 1000) }
    #expect(news[0] == .init(failures: ["late": .undescribed(path: path, seconds: 0.2)], endsFirstRound: true))
    #expect(news[1] == .init(failures: ["late": .undescribed(path: path, seconds: 0.4)]), "it gets more time")
    #expect(Array(discovery.unanswered.keys) == ["late"])
    try letAnswer("late")
    while news.last?.plugins.isEmpty != false { loop.turn(milliseconds: 1000) }
    #expect(news.last?.plugins.map(\.name) == ["late"] && discovery.unanswered.isEmpty)
  }

  @Test func aPluginThatNeverAnswersKeepsNobodyAndItsJobsWait() throws {
    defer { try? FileManager.default.removeItem(at: directory) }
    // Given a plugin that does not answer, which has all the time it may want
    let pool = try PoolHarness(plugins: ["fake"], workers: 1, jobs: [fakeJob("ok", 1), fakeJob("ok", 2, kind: "late")])
    {
      $0.patience = .init(together: 0.05, first: 100_000)
      try? makePlugin("late", in: $0.pluginDirectories[0])
    }
    // Then the others work
    #expect(pool.effects.wait { $0.count == 1 })
    // And the status says what is missing
    let late = try #require(try pool.status().plugins.first { $0.name == "late" })
    #expect(late.isAsked == true && late.failure?.contains("it has been asked for its kinds for") == true, "\(late)")
    #expect(late.kinds.isEmpty && late.version == nil)
    // And no name of a kind or plugin counts as mistyped
    #expect(try pool.request(StatusRequest(.check, kind: "lato", plugin: "late")).unknown ?? [] == [])
    #expect(try pool.request(StatusRequest(.scale, plugin: "late", count: 1)).ok)
    // And the pool reloads and ends without its answer
    #expect(try pool.request(StatusRequest(.reload)).ok)
    pool.source.add([fakeJob("ok", 3)])
    #expect(pool.effects.wait { $0.count == 2 })
    // When it answers to a later question
    try letAnswer("late")
    #expect(try pool.request(StatusRequest(.reload)).ok)
    // Then its jobs run
    #expect(pool.effects.wait { $0.count == 3 })
    #expect(try pool.request(StatusRequest(.check, kind: "lato")).unknown?.map(\.nearest) == ["late"])
    try pool.end()
  }

  @Test func aPoolWhosePluginsAreAllLateGoesOnAndStartsThem() throws {
    defer { try? FileManager.default.removeItem(at: directory) }
    let pool = try PoolHarness(plugins: [], workers: 1, jobs: [fakeJob("ok", 1, kind: "late")]) {
      $0.patience = Self.patience
      try? makePlugin("late", in: $0.pluginDirectories[0])
    }
    #expect(pool.waitForLog("describe did not end within 0.2 s; it is asked again until it answers"))
    try letAnswer("late")
    #expect(pool.effects.wait { $0.count == 1 })
    #expect(pool.log.all.count { $0.contains("it is asked again") } == 1, "each further try is silent")
    try pool.end()
  }

  @Test func aPluginThatIsLateAtAReloadGoesOnWithWhatItSaidBefore() throws {
    defer { try? FileManager.default.removeItem(at: directory) }
    try letAnswer("late")
    let pool = try PoolHarness(plugins: [], workers: 1, jobs: [fakeJob("ok", 1, kind: "late")]) {
      $0.patience = Self.patience
      try? makePlugin("late", in: $0.pluginDirectories[0])
    }
    #expect(pool.effects.wait { $0.count == 1 })
    try keepFromAnswering("late")
    #expect(try pool.request(StatusRequest(.reload)).ok)
    #expect(pool.waitForLog("it is asked again until it answers"))
    pool.source.add([fakeJob("ok", 2, kind: "late")])
    #expect(pool.effects.wait { $0.count == 2 })
    #expect(try pool.status().plugins.map(\.failure) == [nil])
    try pool.end()
  }
}
