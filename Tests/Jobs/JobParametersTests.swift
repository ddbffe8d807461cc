import CoreData
import Jobs
import Testing

@Suite struct JobParametersTests {
  private struct Parameters: Codable, Equatable {
    var file: String
    var since: Date?
    var sizes: [Int] = []
  }

  private func job(_ text: String?, _ body: (Job) throws -> Void) throws {
    try withStore { _, context in
      let job = Job(context: context)
      job.parametersText = text
      try body(job)
    }
  }

  @Test func aValueComesBackAsItWas() throws {
    let value = Parameters(file: "/a \"b\"/c.csv", since: Date(timeIntervalSinceReferenceDate: 0.25), sizes: [1, 2])
    let request = try JobRequest(kind: "import", parameters: value)
    #expect(request.parameters == #"{"file":"/a \"b\"/c.csv","since":"2001-01-01T00:00:00.25Z","sizes":[1,2]}"#)
    try job(request.parameters) { job in
      let decoded = try job.parameters(as: Parameters.self)
      #expect(decoded == value)
    }
  }

  @Test func aStringIsTheTextItself() throws {
    let text = #"{"file": "a"}"#
    let given = JobRequest(kind: "import", parameters: text)
    #expect(given.parameters == text)
    let optional: String? = text
    let also = JobRequest(kind: "import", parameters: optional)
    #expect(also.parameters == text)
    // As an argument of a call that throws, too.
    let lines = try JobFile.text([JobRequest(kind: "import", objects: [], parameters: #"{"file": "a"}"#)])
    #expect(lines.contains(#""parameters":{"file":"a"}"#) || lines.contains(#""parameters": {"file": "a"}"#))
  }

  @Test func objectsAndParametersComeTogether() throws {
    try withStore { _, context in
      let object = Job(context: context)
      let request = try JobRequest(kind: "import", objects: [object], parameters: Parameters(file: "a"))
      #expect(request.parameters == #"{"file":"a","sizes":[]}"#)
      #expect(request.objects == [object.objectID.uriString] && !object.objectID.isTemporaryID)
    }
  }

  @Test func whatIsNoObjectIsRefused() {
    #expect(throws: JobParametersError.noObject(type: "Array<Int>")) {
      try JobRequest(kind: "import", parameters: [1, 2])
    }
  }

  @Test(arguments: [
    (nil, #"the parameters lack "file""#),
    (#"{"file": 3, "sizes": []}"#, #""file" in the parameters is wrong: the type String is expected"#),
    (#"{"file": "a", "sizes": [1, "x"]}"#, #""sizes.1" in the parameters is wrong: the type Int is expected"#),
    (
      #"{"file": "a", "sizes": [], "since": "today"}"#,
      #""since" in the parameters is wrong: it must be a time such as 2026-01-01T00:00:00Z"#
    ),
  ])
  func aMemberThatDoesNotFitIsNamed(text: String?, message: String) throws {
    try job(text) { job in
      let error = #expect(throws: JobParametersError.self) { try job.parameters(as: Parameters.self) }
      #expect(error?.description == message)
    }
  }
}
