import CSystem
import Foundation
import Jobs
import Testing
import WorkerPool

/// Programs as workers: shell scripts, run by real pools.
@Suite(.serialized) struct ExecTests {
  /// A pool with `worker-exec` that allows one script by the name `script`.
  private func pool(
    _ place: TestPlace, script: String, _ settings: String = "", options: [String] = [], behind prefix: [String] = []
  ) throws -> RunningPool {
    let path = try place.write("#!/bin/sh\n" + script, to: "script.sh", mode: 0o755)
    try place.write(#"{"commands": {"script": {"path": "\#(path)"\#(settings)}}}"#, to: "queue/exec.json", mode: 0o600)
    return try RunningPool(
      place, store: place.path("items.sqlite"), model: try ISOCodesModel.write(into: place),
      plugins: try place.plugins("worker-exec", "worker-import"), workers: 2, options: options,
      behind: prefix)
  }

  /// The job of that number as `workerpool jobs --json` shows it.
  private func job(_ key: Int, _ pool: RunningPool) throws -> JSONValue {
    let jobs = try pool.command("jobs", "--json", "--limit", "0").lines.map { try JSONParser.parse($0) }
    return try #require(jobs.first { $0["job"]?.stringValue?.hasSuffix("/p\(key)") == true })
  }

  /// All that is written into a pipe until its writer closes it.
  private func read(_ pipe: String) throws -> String {
    let handle = try #require(FileHandle(forReadingAtPath: pipe))
    return String(decoding: handle.readDataToEndOfFile(), as: UTF8.self)
  }

  @Test(.timeLimit(.minutes(20))) func aScriptReadsTheObjectsAndItsOutputIsKept() throws {
    let place = try TestPlace()
    let pool = try pool(
      place, script: "echo \"$1 $WORKERPOOL_JOB\"; cat; echo warning >&2",
      #", "input": "objects", "arguments": ["{objects}"]"#)
    let file = try place.write("alpha_2,name\nAA,Somewhere\n", to: "aa.csv")
    try pool.submit("import", "--set", "file=\(file)", "--set", "entity=Country", "--set", "key=alpha_2")
    try pool.waitForJobs(1)
    try pool.submit(
      "exec", "--set", "command=script", "--entity", "Country", "--store", pool.store, "--model", pool.model)
    try pool.waitForJobs(2)
    let output = try #require(try job(2, pool)["output"])
    let lines = try #require(output["stdout"]?.stringValue).split(separator: "\n").map(String.init)
    #expect(output["exitCode"]?.intValue == 0 && output["stderr"]?.stringValue == "warning\n")
    #expect(lines.count == 2 && lines[0].hasPrefix("x-coredata://") && lines[0].hasSuffix("/PoolJob/p2"))
    let object = try JSONParser.parse(lines[1])
    #expect(
      object["name"]?.stringValue == "Somewhere" && object["objectID"]?.stringValue?.hasSuffix("/Country/p1") == true)
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20))) func aScriptReadsTheURIsOfTheObjects() throws {
    let place = try TestPlace()
    let pool = try pool(place, script: "cat", #", "input": "uris""#)
    let uris = (1...3).map { "x-coredata://STORE/Country/p\($0)" }
    try pool.submit("exec", "--set", "command=script", uris[0], uris[1], uris[2])
    try pool.waitForJobs(1)
    #expect(try job(1, pool)["output"]?["stdout"]?.stringValue == uris.map { $0 + "\n" }.joined())
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20))) func anExitCodeIsAFailureThatKeepsWhatWasSaid() throws {
    let place = try TestPlace()
    let pool = try pool(place, script: "echo so far; echo cause >&2; exit 64", #", "permanentCodes": [64]"#)
    try pool.submit("exec", "--set", "command=script")
    try pool.wait { $0.jobs?["dead"] == 1 }
    let job = try job(1, pool)
    #expect(job["output"]?["exitCode"]?.intValue == 64 && job["output"]?["stdout"]?.stringValue == "so far\n")
    let error = try #require(job["errors"]?.arrayValue?.first)
    #expect(error["message"]?.stringValue == "\"script\" exited with 64: cause")
    #expect(error["stderr"]?.arrayValue?.compactMap(\.stringValue) == ["cause"])
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20))) func whatIsNotAllowedIsNotRun() throws {
    let place = try TestPlace()
    let pool = try pool(place, script: "exit 0")
    try pool.submit("exec", "--set", "command=scrip")
    try pool.submit("exec", "--set", "command=script", "--set", #"arguments=["-x"]"#)
    try pool.submit("exec", "--set", "command=script", "--set", "event=text")
    try pool.submit("exec", "--set", "command=script", "--set", #"event={"text": "rm -rf /"}"#)
    try pool.wait { $0.jobs?["dead"] == 4 }
    let messages = try (1...4).map { try job($0, pool)["errors"]?.arrayValue?.first?["message"]?.stringValue ?? "" }
    #expect(messages.contains("exec.json allows no command \"scrip\"; did you mean \"script\"?"), "\(messages)")
    #expect(messages.contains { $0.hasPrefix("exec.json does not let jobs give arguments") }, "\(messages)")
    #expect(messages.contains { $0.contains("\"event\" in the parameters must be an object") }, "\(messages)")
    #expect(messages.contains { $0.hasPrefix("exec.json lets no job give an event") }, "\(messages)")
    #expect(chmod(place.path("queue/exec.json"), 0o666) == 0)
    try pool.submit("exec", "--set", "command=script", "--max-attempts", "1")
    try pool.wait { $0.jobs?["dead"] == 5 }
    #expect(
      try job(5, pool)["errors"]?.arrayValue?.first?["message"]?.stringValue?.contains("written by others") == true)
    try pool.stop()
  }

  @Test(
    .timeLimit(.minutes(20)),
    arguments: [
      (#", "environment": 5"#, "\"environment\" in the command \"script\" must be an object"),
      (#", "permanentCodes": ["x"]"#, "\"permanentCodes\" in the command \"script\" must be an array of numbers"),
      (#", "permanentCode": [1]"#, "did you mean \"permanentCodes\"?"),
      (#", "directory": "tmp""#, "\"directory\" in the command \"script\" must begin with /"),
      (
        #", "directory": "/nowhere/at/all""#,
        "the directory /nowhere/at/all of the command \"script\" cannot be entered: No such file or directory"
      ),
    ])
  func aMistakeInTheListOfCommandsIsNamed(settings: String, expected: String) throws {
    let place = try TestPlace()
    let pool = try pool(place, script: "exit 0", settings)
    try pool.submit("exec", "--set", "command=script", "--max-attempts", "1")
    try pool.wait { $0.jobs?["dead"] == 1 }
    let message = try job(1, pool)["errors"]?.arrayValue?.first?["message"]?.stringValue ?? ""
    #expect(message.contains(expected), "\(message)")
    try pool.stop()
  }

  /// A person mends `exec.json`, and the jobs that came meanwhile run.
  @Test(.timeLimit(.minutes(20))) func aMistakeInTheListOfCommandsCostsNoJobForGood() throws {
    // Given one command that is right, and one that is not
    let place = try TestPlace()
    let pool = try pool(place, script: "echo done")
    let file = place.path("queue/exec.json")
    let right = #""right": {"path": "\#(place.path("script.sh"))"}"#
    func write(_ text: String) throws { try place.write(text, to: "queue/exec.json", mode: 0o600) }
    try write(#"{"commands": {\#(right), "wrong": {"path": "script.sh"}}}"#)
    // When jobs name them, and others begin while the file is half written and while there is none
    try pool.submit("exec", "--set", "command=right")
    try pool.waitForJobs(1)
    try pool.submit("exec", "--set", "command=wrong", "--backoff", "600", "--max-backoff", "600")
    try pool.wait { $0.jobs?["retryable"] == 1 }
    try write(#"{"commands": {"#)
    try pool.submit("exec", "--set", "command=right", "--backoff", "600", "--max-backoff", "600")
    try pool.wait { $0.jobs?["retryable"] == 2 }
    try FileManager.default.removeItem(atPath: file)
    try pool.submit("exec", "--set", "command=right", "--backoff", "600", "--max-backoff", "600")
    try pool.wait { $0.jobs?["retryable"] == 3 }
    // Then each says what is wrong, and runs once the file is right
    let messages = try (2...4).map { try job($0, pool)["errors"]?.arrayValue?.first?["message"]?.stringValue ?? "" }
    #expect(messages[0] == "\(file): \"path\" in the command \"wrong\" must begin with /")
    #expect(messages[1].hasPrefix("\(file): "))
    #expect(messages[2] == "\(file), which says what jobs may run, is not there")
    try write(#"{"commands": {\#(right), "wrong": {"path": "\#(place.path("script.sh"))"}}}"#)
    #expect(try pool.command("retry", "--state", "retryable", "--yes").code == 0)
    try pool.waitForJobs(4)
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20))) func aProgramThatTakesTooLongIsEndedWithAllThatItStarted() throws {
    let place = try TestPlace()
    // A grandchild in a session of its own, and a shell that ignores SIGTERM.
    let pool = try pool(
      place,
      script:
        "echo begun; echo cause >&2; trap '' TERM; setsid sleep 1000 & echo $! > '\(place.path("pid"))'; "
        + "head -c 9000000 /dev/zero; sleep 1000"
    )
    try pool.submit("exec", "--set", "command=script", "--timeout", "0.5", "--max-attempts", "1")
    try pool.wait { $0.jobs?["dead"] == 1 }
    let job = try job(1, pool)
    let error = try #require(job["errors"]?.arrayValue?.first)
    #expect(error["type"]?.stringValue == "timeout" && error["signal"]?.intValue == Int(SIGKILL))
    #expect(error["stderr"]?.arrayValue?.compactMap(\.stringValue) == ["cause"])
    #expect(job["output"]?["stdout"]?.stringValue?.hasPrefix("begun\n") == true, "what it said until then is kept")
    let pid = try #require(
      Int32(String(contentsOfFile: place.path("pid"), encoding: .utf8).trimmingCharacters(in: .newlines)))
    #expect(kill(pid, 0) != 0)
    #expect(try pool.status().restarts == 0, "the worker did it by itself")
    try pool.stop()
  }

  @Test(.timeLimit(.minutes(20))) func aProgramEndsWithItsWorker() throws {
    let place = try TestPlace()
    let pipe = place.path("pipe")
    #expect(mkfifo(pipe, 0o600) == 0)
    let pool = try pool(place, script: "echo $$ > '\(pipe)'; exec sleep 1000")
    try pool.submit("exec", "--set", "command=script", "--backoff", "0.1")
    let pid = try #require(Int32(read(pipe).trimmingCharacters(in: .newlines)))
    let program = csystem_pidfd_open(pid)
    defer { close(program) }
    let worker = try pool.waitForRunningWorker()
    kill(worker, SIGKILL)
    var ended = pollfd(fd: program, events: Int16(POLLIN), revents: 0)
    #expect(poll(&ended, 1, 60_000) == 1, "the program outlives its worker")
    // The second attempt is ended by stopping the pool, which costs none.
    _ = try read(pipe)
    #expect(try pool.command("cancel", "p1").code == 0)
    try pool.wait { $0.jobs?["cancelled"] == 1 }
    try pool.stop()
  }

  /// A script that starts programs in its own group, in a session of their own, and without the pool's variables, whose
  /// parents end at once; each tells its process ID through a named pipe.
  private func scatter(_ pipe: String) -> String {
    let program = "echo $$ > \(pipe); exec sleep 1000"
    return """
      sh -c '\(program)' &
      setsid sh -c '\(program)' &
      (setsid sh -c '\(program)' &)
      (env -i setsid /bin/sh -c '\(program)' &)
      echo $$ > \(pipe)
      exec sleep 1000
      """
  }

  /// The processes that a scattering script has started, itself among them.
  private func scattered(_ pipe: String) throws -> [WatchedProcess] {
    // Opened for both, so that there is no end between two writers.
    let descriptor = open(pipe, O_RDWR | O_CLOEXEC)
    let lines = LineReader(FileHandle(fileDescriptor: descriptor, closeOnDealloc: true))
    return try (1...5).map { _ in try WatchedProcess(try #require(lines.next().flatMap { Int32($0) })) }
  }

  @Test(.timeLimit(.minutes(20))) func whatAProgramScattersEndsWithAWorkerThatIsKilled() throws {
    let place = try TestPlace()
    let pipe = place.path("pipe")
    #expect(mkfifo(pipe, 0o600) == 0)
    let pool = try pool(place, script: scatter(pipe))
    try pool.submit("exec", "--set", "command=script", "--max-attempts", "1")
    let processes = try scattered(pipe)
    let worker = try pool.waitForRunningWorker()
    kill(worker, SIGKILL)
    for process in processes { process.waitForEnd() }
    // The next attempt does the same, and is cancelled.
    let others = try scattered(pipe)
    #expect(try pool.command("cancel", "p1").code == 0)
    try pool.wait { $0.jobs?["cancelled"] == 1 }
    for process in others { process.waitForEnd() }
    try pool.stop()
  }

  /// The pool took the place of a shell that had a child, so not every orphan that comes to it is a worker's.
  @Test(.timeLimit(.minutes(20))) func onlyWhatAWorkerHasStartedEndsWithItWhereThePoolHasOtherChildren() throws {
    let place = try TestPlace()
    let (pipe, told, gate) = (place.path("pipe"), place.path("told"), place.path("gate"))
    for path in [pipe, told, gate] { #expect(mkfifo(path, 0o600) == 0) }
    let child = "sleep 1000 & echo $$ $! >\(told); read line <\(gate)"
    let pool = try pool(
      place, script: scatter(pipe), behind: ["/bin/sh", "-c", "sh -c '\(child)' 2>&- & exec \"$0\" \"$@\""])
    let words = try read(told).split(whereSeparator: \.isWhitespace)
    let (shell, other) = try (
      WatchedProcess(try #require(Int32(words[0]))), WatchedProcess(try #require(Int32(words[1])))
    )
    // The child ends, and what it has started comes to the pool.
    close(open(gate, O_WRONLY | O_CLOEXEC))
    shell.waitForEnd()
    try pool.submit("exec", "--set", "command=script", "--max-attempts", "1")
    let processes = try scattered(pipe)
    kill(try pool.waitForRunningWorker(), SIGKILL)
    for process in processes { process.waitForEnd() }
    let next = try scattered(pipe)
    #expect(try pool.command("cancel", "p1").code == 0)
    try pool.wait { $0.jobs?["cancelled"] == 1 }
    for process in next { process.waitForEnd() }
    #expect(other.isAlive, "no worker has started it")
    kill(other.pid, SIGKILL)
    try pool.stop()
  }

  /// Stopped first, so that neither notices the other's end.
  @Test(.timeLimit(.minutes(20))) func whatAProgramScattersEndsWithTheNextPoolWhenPoolAndWorkerAreKilledAtOnce() throws
  {
    let place = try TestPlace()
    let pipe = place.path("pipe")
    #expect(mkfifo(pipe, 0o600) == 0)
    let first = try pool(place, script: scatter(pipe))
    try first.submit("exec", "--set", "command=script", "--max-attempts", "1")
    let processes = try scattered(pipe)
    let workers = try first.status().workers.compactMap(\.pid)
    for pid in workers + [first.pid] { kill(pid, SIGSTOP) }
    for pid in workers + [first.pid] { kill(pid, SIGKILL) }
    #expect(first.waitForExit() == SIGKILL)
    try place.write("#!/bin/sh\nexit 0", to: "script.sh")
    let next = try RunningPool(place, store: first.store, model: first.model, plugins: place.path("plugins"))
    for process in processes { process.waitForEnd() }
    try next.wait { $0.jobs?["succeeded"] == 1 }
    try next.stop()
  }

  @Test(.timeLimit(.minutes(20))) func whatAProgramScattersEndsWithThePool() throws {
    let place = try TestPlace()
    let pipe = place.path("pipe")
    #expect(mkfifo(pipe, 0o600) == 0)
    let pool = try pool(place, script: scatter(pipe), options: ["--deadline", "0"])
    try pool.submit("exec", "--set", "command=script")
    let processes = try scattered(pipe)
    try pool.stop()
    for process in processes { process.waitForEnd() }
  }
}
