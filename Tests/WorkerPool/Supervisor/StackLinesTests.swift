import Testing

@testable import WorkerPool

@Suite struct StackLinesTests {
  @Test func linesAreKeptAsLongAsThereIsRoom() {
    var stack = StackLines()
    let line = String(repeating: "x", count: 1023)
    for _ in 0..<100 { stack.add(line) }
    #expect(stack.lines.count == StackLines.longest / 1024 && stack.lines.allSatisfy { $0 == line })
  }
}
