import Foundation
import Testing
import WorkerProtocol

@Suite struct ReleaseTests {
  @Test func theVersionIsThatOfTheNewestReleaseInTheChangelog() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let changelog = try String(contentsOf: root.appendingPathComponent(".github/CHANGELOG.md"), encoding: .utf8)
    let headings = changelog.split(separator: "\n").filter { $0.hasPrefix("## ") }.map { $0.dropFirst(3) }
    #expect(headings.first == "Unreleased")
    let newest = try #require(headings.dropFirst().first).split(separator: " - ")
    #expect(newest.first.map(String.init) == Release.version)
    #expect(newest.last?.wholeMatch(of: /\d{4}-\d\d-\d\d/) != nil)
    #expect(Release.text.hasPrefix(Release.version))
  }
}
