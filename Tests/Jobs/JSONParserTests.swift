import Jobs
import Testing

@Suite struct JSONParserTests {
  @Test func numbersKeepTheirDigits() throws {
    for digits in ["0", "-0", "12345678901234567890123", "1.500", "2E+10", "-1e-2"] {
      #expect(try JSONParser.parse(digits) == .number(digits))
    }
  }

  @Test(arguments: [
    "", "01", "+1", ".5", "1.", "1e", "-", "tru", "nul", "[1,]", "[,1]", "[1 2]", "{\"a\"}", "{\"a\":1,}", "{a:1}",
    "\"\u{1}\"", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"", "\"open", "[", "{", "1 2",
    "// no", "NaN", "'a'",
  ])
  func whatIsNoJSONIsRefused(text: String) {
    #expect(throws: JSONError.self) { try JSONParser.parse(text) }
  }

  @Test func escapesBecomeTheirCharacters() throws {
    #expect(try JSONParser.parse(#""\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00""#) == .string("\"\\/\u{8}\u{c}\n\r\té😀"))
  }

  @Test func nestingHasALimit() throws {
    let deep = JSONParser.maximumDepth
    #expect(throws: JSONError.self) {
      try JSONParser.parse(String(repeating: "[", count: deep + 1) + String(repeating: "]", count: deep + 1))
    }
    _ = try JSONParser.parse(String(repeating: "[", count: deep) + String(repeating: "]", count: deep))
  }

  @Test func errorsNameLineAndColumn() {
    let error = #expect(throws: JSONError.self) { try JSONParser.parse("{\n  \"a\": ?\n}") }
    #expect(error?.line == 2)
    #expect(error?.column == 8)
  }

  @Test func arraysAreReadElementByElement() throws {
    var parser = JSONParser(Array(#" {"skip": [1, [2]], "list": [ {"a": 1}, 2 ], "after": 3} "#.utf8))
    var elements: [JSONValue] = []
    try parser.enterObject()
    while let name = try parser.nextName() {
      guard name == "list" else {
        _ = try parser.value()
        continue
      }
      try parser.enterArray()
      while try parser.nextElement() { elements.append(try parser.value()) }
    }
    #expect(elements == [["a": 1], 2])
    let end = parser.isAtEnd
    #expect(end)
  }

  @Test func textIsReadBackAsItWas() throws {
    let value: JSONValue = ["a": [1, true, nil, "\u{7f}\u{1}\"\\/é"], "b": [:], "c": .number("1.50")]
    #expect(try JSONParser.parse(value.text) == value)
  }
}
