import CoreData
import Foundation
import Jobs
import TestFiles
import Testing

/// What people read who mistyped something.
@Suite struct WrongInputTests {
  private enum Task: String, CaseIterable {
    case check, vacuum
  }

  private func error(_ json: String, _ read: (inout JSONFields) throws -> Void) throws -> String {
    var fields = try JSONFields(try JSONParser.parse(json), named: "the parameters")
    do { try read(&fields) } catch let error as JSONFieldError { return error.description }
    return ""
  }

  @Test func aMistypedKeyIsNamedInsteadOfTheMissingOne() throws {
    #expect(
      try error(#"{"file": "/a", "kye": "code"}"#) { _ = try $0.requiredString("key") }
        == "the parameters have no \"kye\"; did you mean \"key\"?")
    #expect(
      try error(#"{"flie": "/a"}"#) { _ = try $0.requiredPath("file") }
        == "the parameters have no \"flie\"; did you mean \"file\"?")
    #expect(
      try error(#"{"taks": "check"}"#) { _ = try $0.requiredChoice("task", Task.self) }
        == "the parameters have no \"taks\"; did you mean \"task\"?")
    #expect(
      try error(#"{"entity": "Item"}"#) { _ = try $0.requiredString("key") }
        == "\"key\" is missing in the parameters")
  }

  @Test func anErrorDoesNotRepeatAValue() throws {
    #expect(
      try error(#"{"task": "{\"password\": \"secret\"}"}"#) { _ = try $0.requiredChoice("task", Task.self) }
        == "\"task\" in the parameters is none of the known words; it is check or vacuum")
  }

  @Test func aServersURLWithOneSlashIsNoDirectory() {
    for text in ["postgres:/x", "postgresql:/user@host/database"] {
      let error = #expect(throws: StorePlaceError.self) { try StorePlace(text).check() }
      #expect(error?.description.contains("a URL such as postgresql://user@host/database") == true, "\(text)")
    }
    #expect(throws: Never.self) { try StorePlace("postgres/app.sqlite").check() }
  }

  @Test func aPlaceMayHaveCharactersThatNoURLHas() {
    let place = StorePlace("postgresql://u@/db?host=%2Ftmp&schema=Größe x")
    #expect(place.url.absoluteString == "postgresql://u@/db?host=%2Ftmp&schema=Gr%c3%b6%c3%9fe%20x")
    #expect(throws: Never.self) { try place.check() }
  }

  @Test func anUnreadableModelSaysWhereAndWhy() throws {
    let directory = temporaryURL("models")
    let model = directory.appendingPathComponent("Wrong.xcdatamodel")
    try FileManager.default.createDirectory(at: model, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let text = """
      <?xml version="1.0" encoding="UTF-8"?>
      <model type="com.apple.IDECoreDataModeler.DataModel">
        <entity name="Item">
          <attribute name="value" attributeType="Integre 64"/>
        </entity>
      </model>
      """
    try text.write(to: model.appendingPathComponent("contents"), atomically: true, encoding: .utf8)
    let error = #expect(throws: ModelLoaderError.self) { try ModelLoader.load(model.path) }
    let description = error?.description ?? ""
    #expect(description.contains("line 4"), "\(description)")
    #expect(description.hasSuffix("Item.value has the unknown attribute type Integre 64"), "\(description)")
  }
}
