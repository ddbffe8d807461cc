import Foundation
import Testing

@testable import Jobs

@Suite struct JobFileTests {
  private func parse(_ text: String) throws -> [JobRequest] { try JobFile.parse(Array(text.utf8)) }

  private func reason(_ text: String) -> String {
    do {
      let jobs = try parse(text)
      return "taken: \(jobs)"
    } catch {
      return "\(error)"
    }
  }

  /// The row keeps them as the parser writes them, on one line and without needless spaces.
  @Test(arguments: [
    "{}", "{ }", #"{"a": 1, "b" : [ ] , "c": [1, -2.50e+1 ,"x"], "d": {"e": {"f": [true,false , null]}}}"#,
    #"{"a": {"a": {"a": 1}}, "b": [{"a": 1}, {"a": 2}]}"#, #"{"text": "ünïcode / 😀"}"#, #"{"größe": 1}"#,
    #"{"a": "\"\\\/\u00e9\n"}"#, #"{"a\u0062": 1}"#, "{\"a\": \"\u{7F}\"}", "{\n \"a\":\t1\r\n}", #"{"a":1,"a":2}"#,
    #"{"b": {"a":1,"a":2}}"#, "{\"é\":1,\"e\u{301}\":2}", #"{"a":01}"#, #"{"a":1,}"#, #"{"a" 1}"#, #"{"a":tru}"#,
    #"{"a":"#, "{\"a\":\"\u{1}\"}", #"{a:1}"#, #"{"a":[1 2]}"#, #"{"a":[1,]}"#, #"{"a":-}"#, #"{"a":1.}"#, "[1]",
    #""text""#, "{", #"{"deep":"# + String(repeating: "[", count: 40) + String(repeating: "]", count: 40) + "}",
    "{" + (0..<100).map { "\"\($0)\":\($0)" }.joined(separator: ",") + "}",
  ])
  func parametersAreKeptAsTheTextOfTheirValue(text: String) throws {
    let value = try? JSONParser.parse(text)
    let job = try? parse(#"{"kind": "a", "parameters": \#(text), "priority": 3}"#).first
    guard case .object? = value else {
      #expect(job == nil)
      return
    }
    #expect(job?.parameters == value?.text)
    #expect(job?.kind == "a" && job?.priority == 3)
  }

  @Test func aMemberThatStandsTwiceIsRejectedWithItsName() {
    #expect(reason(#"{"kind": "a", "queue": "b", "kind": "c"}"#).contains(#""kind" stands twice in one object"#))
    #expect(reason(#"{"kind": "a", "parameters": {"x": 1, "x": 2}}"#).contains(#""x" stands twice in one object"#))
  }

  @Test func onlyKindIsRequired() throws {
    #expect(try parse(#"{"kind": "index"}"#) == [JobRequest(kind: "index")])
  }

  @Test func everyKeyIsRead() throws {
    let jobs = try parse(
      #"""
      {"kind": "index", "objects": ["x-coredata://A-B/Document/p42"], "parameters": {"deep": [1.50, null]},
       "priority": -3, "queue": "slow", "runAt": "2026-01-01T00:00:00Z", "unique": "key", "maxAttempts": 7,
       "timeout": 0.5}
      """#)
    let expected = JobRequest(
      kind: "index", objects: ["x-coredata://A-B/Document/p42"], parameters: #"{"deep":[1.50,null]}"#, priority: -3,
      queue: "slow", runAt: Date(timeIntervalSince1970: 1_767_225_600), uniqueKey: "key", maxAttempts: 7, timeout: 0.5)
    #expect(jobs == [expected])
  }

  @Test func everyLaterKeyIsRead() throws {
    let jobs = try parse(
      #"""
      {"kind": "a", "label": "one", "batch": "night", "unique": "k", "uniqueFor": 60, "backoff": 2, "maxBackoff": 30}
      {"kind": "b", "after": ["one", "x-coredata://A/PoolJob/p1"], "whenFailed": "run", "limitKey": "c 7", "limit": 3}
      {"kind": "c", "afterBatch": "night", "whenFailed": "cancel"}
      """#)
    #expect(jobs[0].label == "one" && jobs[0].batch == "night" && jobs[0].uniqueKey == "k")
    #expect(jobs[0].options.uniqueFor == 60 && jobs[0].options.backoff == 2 && jobs[0].options.maxBackoff == 30)
    #expect(jobs[1].options.after == ["one", "x-coredata://A/PoolJob/p1"] && jobs[1].options.whenFailed == .run)
    #expect(jobs[1].limitKey == "c 7" && jobs[1].options.limit == 3)
    #expect(jobs[2].options.afterBatch == "night" && jobs[2].options.whenFailed == .cancel)
    #expect(try parse(try JobFile.text(jobs)) == jobs)
  }

  @Test func manyJobsStandOnLinesOfTheirOwn() throws {
    #expect(try parse("{\"kind\":\"a\"}\n\n{\"kind\":\"b\"}\r\n").map(\.kind) == ["a", "b"])
    #expect(reason(#"{"kind":"a"} {"kind":"b"}"#) == "line 1: each job stands on a line of its own")
  }

  @Test func anUnknownKeyNamesTheNearestKnownOne() {
    #expect(
      reason("{\"kind\": \"a\"}\n{\"kind\": \"b\", \"priorty\": 1}")
        == "line 2: unknown key \"priorty\"; did you mean \"priority\"?")
    #expect(reason(#"{"kind": "a", "zzzzzz": 1}"#).contains("known are kind, objects"))
  }

  @Test(arguments: [
    (#"{"kind": 1}"#, "\"kind\" must be a name"),
    (#"{"kind": "a b"}"#, "\"kind\" must be a name"),
    (#"{"kind": ""}"#, "\"kind\" must be a name"),
    (#"{"kind": "a", "queue": "slow mail"}"#, "here it is \"slow mail\""),
    (#"{"queue": "q"}"#, "\"kind\" is missing"),
    (#"[]"#, "a job is a JSON object, but here is an array"),
    (#"{"kind": "a", "priority": 32768}"#, "\"priority\" must be a whole number from -32768 to 32767"),
    (#"{"kind": "a", "priority": 1.5}"#, "\"priority\" must be a whole number"),
    (#"{"kind": "a", "priority": "1"}"#, "here it is a string"),
    (#"{"kind": "a", "objects": ["p42"]}"#, "element 1 is none"),
    (#"{"kind": "a", "objects": ["x-coredata://A/B/p1", "x-coredata:///B/t1"]}"#, "element 2 is none"),
    (#"{"kind": "a", "objects": ["x-coredata://A/B/p1\nx"]}"#, "element 1 is none"),
    (#"{"kind": "a", "runAt": "tomorrow"}"#, "\"runAt\" must be a time"),
    (#"{"kind": "a", "maxAttempts": 0}"#, "\"maxAttempts\" must be a whole number from 1 to 1000"),
    (#"{"kind": "a", "timeout": 0}"#, "\"timeout\" must be a number of seconds"),
    (#"{"kind": "a", "timeout": true}"#, "here it is true or false"),
    (#"{"kind": "a", "unique": ""}"#, "\"unique\" must be a string"),
    (#"{"kind": "a", "uniqueFor": 60}"#, "\"uniqueFor\" needs \"unique\""),
    (#"{"kind": "a", "uniquePeriod": 60}"#, "\"uniquePeriod\" needs \"uniqueBy\""),
    (#"{"kind": "a", "unique": "k", "uniqueFor": 9, "uniquePeriod": 60}"#, "exclude each other"),
    (#"{"kind": "a", "tags": "a"}"#, "\"tags\" must be an array of tags"),
    (#"{"kind": "a", "tags": ["a", "a"]}"#, "it has a tag twice"),
    (#"{"kind": "a", "tags": ["a", "\""]}"#, "element 2 is none"),
    (#"{"kind": "a", "tags": [\#((1...17).map { "\"\($0)\"" }.joined(separator: ","))]}"#, "more than 16 elements"),
    (#"{"kind": "a", "uniqueBy": []}"#, "\"uniqueBy\" must be an array"),
    (#"{"kind": "a", "uniqueBy": ["kind", "state"]}"#, "element 2 is none of them"),
    (#"{"kind": "a", "limit": 2}"#, "\"limit\" needs \"limitKey\""),
    (#"{"kind": "a", "limitKey": "k", "limit": 0}"#, "\"limit\" must be a whole number from 1"),
    (#"{"kind": "a", "backoff": -1}"#, "\"backoff\" must be a number of seconds"),
    (#"{"kind": "a", "whenFailed": "run"}"#, "needs \"after\" or \"afterBatch\""),
    (#"{"kind": "a", "after": ["b"], "whenFailed": "no"}"#, "\"whenFailed\" must be \"wait\", \"cancel\" or \"run\""),
    (#"{"kind": "a", "after": "b"}"#, "\"after\" must be an array"),
    (#"{"kind": "a", "after": ["b c"]}"#, "element 1 is neither"),
    (#"{"kind": "a", "label": "b", "after": ["b"]}"#, "the label of no earlier line"),
    ("{\"kind\": \"a\", \"label\": \"one\"}\n{\"kind\": \"b\", \"after\": [\"on\"]}", "did you mean \"one\"?"),
    (
      "{\"kind\": \"a\", \"label\": \"x\"}\n{\"kind\": \"b\", \"label\": \"x\"}", "line 2: the label \"x\" stands twice"
    ),
    (#"{"kind": "a", "batch": "b", "afterBatch": "b"}"#, "its own batch"),
    (#"{"kind": "a", "parameters": "{}"}"#, "\"parameters\" must be a JSON object"),
    (#"{"kind": "a", "kind": "b"}"#, "\"kind\" stands twice"),
    ("", "holds no job"),
    ("\u{FEFF}{}", "byte order mark"),
    ("{\"kind\": \"a\",\n}", "line 2"),
    ("{\"kind\": \"a\"", "has no end"),
  ])
  func badInputIsRejectedWithItsReason(text: String, expected: String) {
    #expect(reason(text).contains(expected), "\(reason(text))")
  }

  @Test func bytesThatAreNoUTF8AreRejected() {
    #expect(throws: JobFileError.self) {
      try JobFile.parse(Array(#"{"kind": "a", "unique": ""#.utf8) + [0xFF, 0x22, 0x7D])
    }
  }

  @Test func aFileThatIsTooLargeIsRejectedUnread() {
    #expect(throws: JobFileError.self) { try JobFile.parse([UInt8](repeating: 0x20, count: JobFile.maximumSize + 1)) }
  }

  @Test func aFileOfVeryManyJobsIsRejected() throws {
    let line = "{\"kind\":\"a\"}\n"
    let most = Array(String(repeating: line, count: JobFile.maximumJobs).utf8)
    #expect(try JobFile.parse(most).count == JobFile.maximumJobs)
    let tooMany = String(decoding: most, as: UTF8.self) + line
    #expect(reason(tooMany) == "the file holds more than 100000 jobs; write several files")
  }

  @Test func whatIsWrittenIsReadBack() throws {
    let jobs = [
      JobRequest(kind: "a"),
      JobRequest(
        kind: "b", objects: ["x-coredata://A/B/p1", "x-coredata://A/B/p2"], parameters: #"{"text":"\"\n\u0001é😀"}"#,
        priority: 4, queue: "q", runAt: Date(timeIntervalSince1970: 1_767_225_600.25), uniqueKey: "k", maxAttempts: 2,
        timeout: 60),
    ]
    #expect(try parse(try JobFile.text(jobs)) == jobs)
  }

  private static let lines = [
    #"{"kind": "a", "parameters": {"path": "/a b/c.csv", "row": 17, "x": [ 1, -2.5e3, true, null, {"y" : {}} ]}}"#,
    #"{"kind":"a","queue":"q","priority":5,"parameters":{"ä":"ö","a":"b\u0020","d":"\#u{7f}"},"tags":["x"]}"#,
    #"{"kind":"a","objects":["x-coredata://S/D/p1"],"parameters":{"a":"ü","b":[[],[1 ,2]]},"unique":"k"}"#,
    #"{"kind":"a","parameters":{"a":1,"b":{"a":1},"c":2}}"#,
  ]

  /// The quick reader of a file's lines takes none that the careful one refuses, and both make the same job of it: for
  /// lines in which each byte in turn is another one.
  @Test(arguments: lines) func aLineThatIsReadInOnePassIsTheSameJob(line: String) {
    let bytes = Array(line.utf8)
    var taken = 0
    var wrong: [String] = []
    for index in bytes.indices {
      for byte in [bytes[index]] + "\"\\{}],: 0a\u{7f}".utf8 {
        var changed = bytes
        changed[index] = byte
        var (quick, careful) = (JSONParser(changed), JSONParser(changed))
        var reader = JobFile.PlainReader()
        var job = JobRequest(kind: "")
        let isTaken = reader.read(&job, from: &quick)
        if isTaken { taken += 1 }
        // A line that is refused has no job.
        let expected = try? JobFile.request(careful.value(), line: 1)
        if isTaken && job != expected || quick.position != (isTaken ? careful.position : 0) {
          wrong.append(String(decoding: changed, as: UTF8.self))
        }
      }
    }
    #expect(wrong == [])
    #expect(taken > 0 || line == Self.lines[1], "most lines are taken")
  }

  /// Parameters lie as deep in each other as the parser allows, and no deeper.
  @Test func parametersHaveTheirDepth() throws {
    func parameters(_ depth: Int) -> String {
      String(repeating: #"{"a":"#, count: depth) + "1" + String(repeating: "}", count: depth)
    }
    func line(_ depth: Int) -> String { #"{"kind":"a","parameters":\#(parameters(depth))}"# }
    let most = JSONParser.maximumDepth - 2
    #expect(try parse(line(most))[0].parameters == parameters(most))
    #expect(reason(line(most + 1)).contains("lie deeper than 128 in each other"))
  }

  @Test func manyMembersAreDistinct() throws {
    let members = (0..<100).map { "\"m\($0)\": 1" }
    let text = members.joined(separator: ", ")
    let jobs = try parse(#"{"kind":"a","parameters":{\#(text)}}"#)
    #expect(jobs[0].parameters == "{\(text.filter { $0 != " " })}")
    for count in [3, 100] {
      let twice = (members.prefix(count) + [members[1]]).joined(separator: ",")
      #expect(reason(#"{"kind":"a","parameters":{\#(twice)}}"#).contains(#""m1" stands twice in one object"#))
    }
  }
}
