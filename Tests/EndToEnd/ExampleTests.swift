import Foundation
import TestFiles
import Testing

/// The files with which the pages of the documentation begin.
@Suite struct ExampleTests {
  @Test func theModelAndTheStoreOfTheExampleFitEachOther() throws {
    let place = try TestPlace()
    let written = try workerpool("example", place.path(""), "--store", "app.sqlite")
    #expect(written.code == 0, "\(written.errors)")
    #expect(
      written.lines.map { URL(fileURLWithPath: $0).lastPathComponent } == [
        "App.xcdatamodeld", "countries.csv", "photos.csv", "app.sqlite",
      ])
    let fetched = try workerpool(
      "fetch", "Country", "--sort", "code", "--json", "--store", place.path("app.sqlite"), "--model",
      place.path("App.xcdatamodeld"))
    #expect(fetched.code == 0 && fetched.lines.count == 3 && fetched.output.contains("\"Kenya\""), "\(fetched)")
  }

  @Test(arguments: ["App.xcdatamodeld", "photos.csv", "app.sqlite"])
  func nothingIsReplacedAndNothingIsWrittenBesideIt(present: String) throws {
    let place = try TestPlace()
    try place.write("mine", to: present)
    let refused = try workerpool("example", place.path(""), "--store", "app.sqlite")
    #expect(refused.code == 2 && refused.errors.contains("\(present) is there already"), "\(refused)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.path("")) == [present])
    #expect(try String(contentsOfFile: place.path(present), encoding: .utf8) == "mine")
  }

  @Test func aMissingDirectoryIsNamed() throws {
    let refused = try workerpool("example", "/nowhere/at/all")
    #expect(refused.code != 0 && refused.errors.contains("/nowhere/at/all"), "\(refused)")
  }
}
