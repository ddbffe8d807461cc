import Foundation
import Testing

/// Each way in which `workerpool run` is refused. A typing error in a path must not leave a queue directory that no
/// pool uses, or an empty store that looks like the app's.
@Suite(.serialized) struct RefusedStartTests {
  /// A start that is refused.
  struct Refusal: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let code: Int32
    /// What standard error says.
    let sentence: String
    /// The options in whose place others stand, with the others.
    var options: [String: [String]] = [:]
    /// What is there before: a shell's commands.
    var scene = ""
    /// A command with arguments that runs the pool.
    var through: [String] = []
    /// Whether a pool runs on `queue` and `app.sqlite`.
    var isSecond = false

    init(
      _ name: String, code: Int32, _ sentence: String, options: [String: [String]] = [:], scene: String = "",
      through: [String] = [], isSecond: Bool = false
    ) {
      (testDescription, self.code, self.sentence, self.options) = (name, code, sentence, options)
      (self.scene, self.through, self.isSecond) = (scene, through, isSecond)
    }
  }

  private static let none = "No such file or directory"
  private static let server = "postgresql://nobody@127.0.0.1:1/none"
  private static let withoutPower = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--"]

  static let plugins = [
    Refusal(
      "no plugin", code: 4, "there is no worker-NAME file in nothing", options: ["plugins": ["nothing"]],
      scene: "mkdir nothing"),
    Refusal("no directory of plugins", code: 4, "worker-NAME file in none (\(none))", options: ["plugins": ["none"]]),
    Refusal(
      "a file for plugins", code: 4, "file (a regular file, not a dir", options: ["plugins": ["file"]],
      scene: "touch file"),
    Refusal(
      "a plugin that cannot be executed", code: 4, "bad/worker-bad cannot be executed: Permission denied",
      options: ["plugins": ["bad"]], scene: "mkdir bad; touch bad/worker-bad"),
    Refusal(
      "a plugin whose program is missing", code: 4, "bad/worker-bad cannot be executed: \(none)",
      options: ["plugins": ["bad"]],
      scene: "mkdir bad; ln -s gone bad/worker-bad"),
    Refusal(
      "plugins in a home, confined", code: 1, "workers cannot be confined", options: ["confine": [], "plugins": ["/"]]),
  ]

  static let models = [
    Refusal("no model", code: 1, "there is no model at None.momd", options: ["model": ["None.momd"]]),
    Refusal("no model named", code: 1, "--model must name the model of the new store", options: ["model": []]),
    Refusal("a directory for a model", code: 1, "it is a directory", options: ["model": ["plugins"]]),
    Refusal(
      "a broken model", code: 1, "cannot be read as a data model", options: ["model": ["Wrong.xcdatamodel"]],
      scene: "mkdir Wrong.xcdatamodel; echo '<model><entity/></model>' > Wrong.xcdatamodel/contents"),
    Refusal(
      "another model than the store's", code: 7, "does not fit the store",
      options: ["model": ["Other.xcdatamodel"], "store": ["app.sqlite"]],
      scene:
        "mkdir Other.xcdatamodel; sed 's/\"Item\"/\"Other\"/g' Items.xcdatamodel/contents > "
        + "Other.xcdatamodel/contents"),
    Refusal(
      "a model to which the store cannot be migrated", code: 1, "cannot be migrated",
      options: ["model": ["Other.xcdatamodel"], "store": ["app.sqlite"], "migrate": []],
      scene:
        "mkdir Other.xcdatamodel; sed 's/Integer 64\" defaultValueString=\"0/Binary/' Items.xcdatamodel/contents "
        + "> Other.xcdatamodel/contents"),
  ]

  static let stores = [
    Refusal(
      "a store's directory that is missing", code: 1, "there is no directory", options: ["store": ["none/new.sqlite"]]),
    Refusal(
      "a directory for a store", code: 1, "it is a directory, not a regular file", options: ["store": ["plugins"]]),
    Refusal("a pipe for a store", code: 1, "it is a named pipe", options: ["store": ["pipe"]], scene: "mkfifo pipe"),
    Refusal(
      "a text for a store", code: 1, "file is not a database", options: ["store": ["text"]],
      scene: "echo no database > text"),
    Refusal(
      "a store of two names", code: 1, "the file has 2 names", options: ["store": ["app.sqlite"]],
      scene: "ln app.sqlite other.sqlite"),
    Refusal(
      "a store that may not be written", code: 7, "cannot be written", options: ["store": ["app.sqlite"]],
      scene: "chmod 444 app.sqlite", through: powerless),
    Refusal(
      "a directory that may not be written", code: 7, "cannot be written", options: ["store": ["shut/new.sqlite"]],
      scene: "mkdir -m 555 shut", through: powerless),
    Refusal(
      "a server that is not there", code: 5, "could not be opened within",
      options: ["store": [server], "store-wait": ["1"]]),
    Refusal("a server without a model", code: 1, "--model is missing", options: ["store": [server], "model": []]),
    Refusal(
      "a server's store to migrate", code: 1, "--migrate changes SQLite files",
      options: ["store": [server], "migrate": []]),
    Refusal(
      "a URL with a password", code: 1, "the URL has a password", options: ["store": ["postgresql://a:b@127.0.0.1/c"]]),
  ]

  static let queues = [
    Refusal("a file for a queue", code: 1, "file is a regular file", options: ["queue": ["file"]], scene: "touch file"),
    Refusal("a queue in a file", code: 1, "Not a directory", options: ["queue": ["file/queue"]], scene: "touch file"),
    Refusal(
      "a queue in no directory", code: 1, "none/queue cannot be made: \(none)", options: ["queue": ["none/queue"]]),
    Refusal("a file for incoming", code: 1, "new/incoming is a regular", scene: "mkdir new; touch new/incoming"),
    Refusal("a file for run", code: 1, "new/run is a regular file", scene: "mkdir new; touch new/run"),
    Refusal("a file for log", code: 1, "new/log is a regular file", scene: "mkdir new; touch new/log"),
    Refusal(
      "a directory for the log's file", code: 1, "pool.jsonl cannot be opened", scene: "mkdir -p new/log/pool.jsonl"),
    Refusal("a link to nothing for taken", code: 1, "taken cannot be made", scene: "mkdir new; ln -s none new/taken"),
    Refusal(
      "a queue that may not be made", code: 1, "Permission denied", options: ["queue": ["shut/queue"]],
      scene: "mkdir -m 555 shut",
      through: powerless),
    Refusal(
      "a second pool on the queue", code: 1, "a queue directory has one pool", options: ["queue": ["queue"]],
      isSecond: true),
    Refusal(
      "a second pool on the store", code: 1, "a store has one pool", options: ["store": ["app.sqlite"]],
      isSecond: true),
  ]

  /// What a pool writes elsewhere must not take the place of something else.
  static let outputs = [
    Refusal(
      "a store where the pool takes files", code: 1, "where the pool takes and removes files",
      options: ["store": ["new/incoming/app.sqlite"]], scene: "mkdir -p new/incoming"),
    Refusal(
      "metrics for the new store", code: 1, "new.sqlite is a file of the store",
      options: ["metrics-file": ["new.sqlite"]]),
    Refusal(
      "metrics for the store's log", code: 1, "is a file of the store",
      options: ["store": ["app.sqlite"], "metrics-file": ["plugins/../app.sqlite-wal"]]),
    Refusal(
      "metrics for the store's large values", code: 1, "is where the store keeps its large values",
      options: ["store": ["app.sqlite"], "metrics-file": [".app_SUPPORT"]]),
    Refusal("metrics for another store", code: 1, "app.sqlite is a SQLite", options: ["metrics-file": ["app.sqlite"]]),
    Refusal(
      "metrics for the model", code: 1, "is a file of the model",
      options: ["metrics-file": ["Items.xcdatamodel/contents"]]),
    Refusal(
      "metrics for a text", code: 1, "other than metrics", options: ["metrics-file": ["notes"]],
      scene: "echo buy milk > notes"),
    Refusal(
      "metrics where jobs come in", code: 1, "lies in the queue directory",
      options: ["metrics-file": ["new/incoming/metrics"]],
      scene: "mkdir -p new/incoming"),
    Refusal(
      "a recording into the store", code: 1, "app.sqlite is a file of the store",
      options: ["store": ["app.sqlite"], "record": ["app.sqlite"]]),
    Refusal(
      "a recording into the model", code: 1, "is a file of the model",
      options: ["record": ["Items.xcdatamodel/contents"]]),
    Refusal("a recording into another store", code: 1, "app.sqlite is a SQLite", options: ["record": ["app.sqlite"]]),
    Refusal(
      "a recording into a text", code: 1, "other than a recording", options: ["record": ["notes"]],
      scene: "echo buy milk > notes"),
    Refusal(
      "a recording into another store through a link", code: 1, "other than a recording", options: ["record": ["link"]],
      scene: "ln -s app.sqlite link"),
    Refusal(
      "a recording through a link to nothing", code: 1, "is a symbolic link to a file that is not there",
      options: ["record": ["link"]], scene: "ln -s missing link"),
    Refusal(
      "a recording into a file that cannot be read", code: 1, "cannot be read by this user",
      options: ["record": ["notes"]],
      scene: "echo buy milk > notes; chmod 200 notes", through: powerless),
  ]

  static let others = [
    Refusal(
      "a recording in no directory", code: 1, "none/record cannot be opened", options: ["record": ["none/record"]]),
    Refusal(
      "a directory for a recording", code: 1, "plugins cannot be opened: Is a directory",
      options: ["record": ["plugins"]]),
    Refusal("too few files", code: 1, "this process may have 43", through: ["prlimit", "--nofile=43:43"]),
    Refusal("an unknown option", code: 2, "did you mean --workers?", options: ["worker": ["1"]]),
    Refusal("a wrong number", code: 2, "--workers must be a whole number", options: ["workers": ["four"]]),
    Refusal("no file of options", code: 2, "none.conf is not there", options: ["config": ["none.conf"]]),
    Refusal(
      "a wrong file of options", code: 2, "line 1", options: ["config": ["a.conf"]], scene: "echo workers four > a.conf"
    ),
  ]

  private static var powerless: [String] { geteuid() == 0 ? withoutPower : [] }

  @Test(.timeLimit(.minutes(20)), arguments: plugins + models + stores + queues + outputs + others)
  func aStartThatIsRefusedLeavesNothingBehindAndTouchesNothing(refusal: Refusal) throws {
    let items = try ItemPool()
    let place = items.place.url.path
    let pool = refusal.isSecond ? try items.start() : nil
    try run("/bin/sh", ["-ec", refusal.scene], in: place)
    let before = try Self.files(in: place, isInUse: refusal.isSecond)
    let options = [
      "store": ["new.sqlite"], "model": ["Items.xcdatamodel"], "queue": ["new"], "plugins": ["plugins"],
      "without-bundled": [],
    ].merging(refusal.options) { $1 }
    // No value for an option that has one: it is left out.
    let words = options.sorted { $0.key < $1.key }.flatMap { name, values in
      values.isEmpty && name == "model" ? [] : ["--\(name)"] + values
    }
    let finished = try run(
      "/usr/bin/env", ["timeout", "60"] + refusal.through + [Built.path("workerpool"), "run"] + words, in: place)
    #expect(finished.code == refusal.code && finished.errors.contains(refusal.sentence), "\(finished)")
    let after = try Self.files(in: place, isInUse: refusal.isSecond)
    #expect(after.filter { before[$0.key] != $0.value }.keys.sorted() == [], "made or changed")
    #expect(before.keys.filter { after[$0] == nil }.sorted() == [], "removed")
    try pool?.stop()
  }

  /// What is in a directory: the mode of each file, and of a regular one what it holds.
  ///
  /// - Parameter isInUse: whether a pool runs, which changes its own files.
  private static func files(in directory: String, isInUse: Bool) throws -> [String: String] {
    var files: [String: String] = [:]
    let names = FileManager.default.enumerator(atPath: directory)
    while let name = names?.nextObject() as? String {
      if isInUse, ["queue", "app.sqlite"].contains(where: name.hasPrefix) { continue }
      var status = stat()
      guard lstat("\(directory)/\(name)", &status) == 0 else { continue }
      let isRegular = status.st_mode & S_IFMT == S_IFREG
      let content = isRegular ? FileManager.default.contents(atPath: "\(directory)/\(name)") : nil
      files[name] = "\(String(status.st_mode, radix: 8)) \(content?.base64EncodedString() ?? "")"
    }
    return files
  }
}
