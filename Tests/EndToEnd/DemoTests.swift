import Foundation
import Testing

@Suite(.serialized) struct DemoTests {
  @Test(.timeLimit(.minutes(3)))
  func theDemoGoesFromBeginningToEndWithoutATerminalAndLeavesNothing() throws {
    let place = try TestPlace()
    for number in 1...20 {
      let words = (1...400).map { "word\(String(repeating: "a", count: $0 % (number + 5)))" }
      try place.write(words.joined(separator: " \n"), to: "texts/\(number).txt")
    }
    try place.write("\u{0}binary", to: "texts/image.png")
    let finished = try workerpool("demo", place.path("texts"))
    #expect(finished.code == 0, "\(finished.errors)")
    #expect(finished.output.contains("20 jobs submitted"))
    #expect(finished.output.contains("kill -9"))
    #expect(finished.output.contains("is replaced by worker"))
    #expect(finished.output.contains("all 20 jobs are done"))
    #expect(finished.output.contains("most frequent words"))
    #expect(!finished.output.contains("\u{1B}"))
    let folder = try #require(finished.output.firstMatch(of: /[^ ]*workerpool-demo-[0-9a-f]+/))
    #expect(!FileManager.default.fileExists(atPath: String(folder.output)))
  }

  @Test func aFolderWithoutTextIsAnError() throws {
    let place = try TestPlace()
    let finished = try workerpool("demo", place.url.path)
    #expect(finished.code == 1 && finished.errors.contains("there are no text files in"))
  }
}
