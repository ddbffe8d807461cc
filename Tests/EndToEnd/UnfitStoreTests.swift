import Foundation
import Testing
import WorkerPool

/// A store that the pool cannot use is refused at the start, in one sentence that says what to do.
@Suite(.serialized) struct UnfitStoreTests {
  private static let newerModel = """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" sourceLanguage="Swift">
      <entity name="Item" representedClassName="Item" syncable="YES">
        <attribute name="value" optional="YES" attributeType="Integer 64" defaultValueString="0"
          usesScalarValueType="YES"/>
        <attribute name="name" optional="YES" attributeType="String"/>
      </entity>
      <entity name="Tag" representedClassName="Tag" syncable="YES"/>
    </model>
    """

  /// What the pool says when it is run without the right to write what its user may not write, root or not.
  private func refusal(_ items: ItemPool, model: String? = nil, queue: String? = nil) throws -> Finished {
    let powerless = geteuid() == 0 ? ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--"] : []
    return try run(
      "/usr/bin/env",
      powerless + [
        Built.path("workerpool"), "run", "--store", items.store, "--model", model ?? items.model, "--queue",
        queue ?? items.queue, "--plugins", items.plugins, "--without-bundled",
      ])
  }

  @Test(.timeLimit(.minutes(20))) func aModelThatDoesNotFitIsRefusedWithTheEntitiesThatDiffer() throws {
    let items = try ItemPool()
    try items.place.write(Self.newerModel, to: "Newer.xcdatamodel/contents")
    let finished = try refusal(items, model: items.place.path("Newer.xcdatamodel"))
    #expect(finished.code == 7)
    #expect(finished.errors.split(separator: "\n").count == 1, "\(finished.errors)")
    #expect(
      finished.errors.contains(
        "does not fit the store \(items.store): Tag is in the model only, Item differs; to migrate the store: "))
    #expect(!finished.errors.contains("NSCocoaErrorDomain"))
  }

  @Test(.timeLimit(.minutes(20))) func aStoreOfAnOlderVersionIsToldAsSuch() throws {
    let items = try ItemPool()
    let bundle = items.place.path("All.xcdatamodeld")
    try items.place.write(Self.newerModel, to: "All.xcdatamodeld/New.xcdatamodel/contents")
    try FileManager.default.copyItem(atPath: items.model, toPath: bundle + "/First.xcdatamodel")
    try items.place.write(
      #"<plist version="1.0"><dict><key>_XCCurrentVersionName</key><string>New.xcdatamodel</string></dict></plist>"#,
      to: "All.xcdatamodeld/.xccurrentversion")
    let finished = try refusal(items, model: bundle)
    #expect(finished.code == 7)
    #expect(
      finished.errors.contains(
        "the store is of its version \"First\"; to migrate the store: workerpool migrate --store "),
      "\(finished.errors)")
  }

  @Test(.timeLimit(.minutes(20)), arguments: ["app.sqlite", ""])
  func aStoreThatCannotBeWrittenIsRefused(what: String) throws {
    let items = try ItemPool()
    // The queue is elsewhere, and may be written.
    let queue = try TestPlace()
    let path = what.isEmpty ? items.place.url.path : items.place.path(what)
    chmod(path, what.isEmpty ? 0o555 : 0o444)
    defer { chmod(path, 0o755) }
    let finished = try refusal(items, queue: queue.path("q"))
    #expect(finished.code == 7)
    #expect(finished.errors.split(separator: "\n").count == 1, "\(finished.errors)")
    #expect(finished.errors.contains("the store \(items.store) cannot be written"), "\(finished.errors)")
    #expect(finished.errors.contains("Permission denied"))
  }

  @Test func whatMayBeMendedDoesNotEndTheServiceForGood() throws {
    let unit = try workerpool("systemd-unit", "--store", "a", "--model", "b").output
    #expect(unit.contains("\nRestartPreventExitStatus=2 6\n") && unit.contains("\nRestart=on-failure\n"))
    #expect(unit.contains("\nStartLimitIntervalSec=0\n") && unit.contains("\nRestartSec=10\n"))
  }

  /// Directories of `--plugins` come first, and hide nothing but plugins of the same name.
  @Test(.timeLimit(.minutes(20))) func pluginsOfOnesOwnAddToThoseThatComeAlong() throws {
    let items = try ItemPool()
    try FileManager.default.createSymbolicLink(
      atPath: items.plugins + "/worker-index", withDestinationPath: Built.path("test-worker"))
    let pool = try RunningPool(
      items.place, store: items.store, model: items.model, plugins: items.plugins, bundled: true)
    try pool.wait { $0.plugins.count >= 6 && $0.plugins.allSatisfy { !$0.kinds.isEmpty } }
    let plugins = try pool.status().plugins
    #expect(Set(plugins.map(\.name)).isSuperset(of: ["test", "import", "export", "exec", "maintain", "index"]))
    #expect(plugins.first { $0.name == "index" }?.kinds.contains("add") == true, "it is the first directory's")
    let nothing = try workerpool(
      "run", "--store", items.store, "--model", items.model, "--queue", items.queue, "--without-bundled")
    #expect(nothing.code == 2 && nothing.errors.contains("--without-bundled needs --plugins"))
    try pool.stop()
  }
}
