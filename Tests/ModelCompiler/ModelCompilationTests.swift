import Foundation
import ModelFiles
import Testing

@testable import ClassGenerator

@Suite("Compiling a model") struct ModelCompilationTests {
  @Test("The compiled model reads as its source does, whatever characters are in it") func compiledReadsTheSame() throws
  {
    let model = try TemporaryModel(
      """
      <entity name="A"><attribute name="t" attributeType="String" defaultValueString="a &lt; &quot;b&quot; &amp; c&#10;d&#9;é"/>
      <userInfo><entry key="k" value="&gt;"/></userInfo></entity><elements><element name="A"/></elements>
      """)
    let momd = model.folder.appendingPathComponent("Model.momd")
    try compilation(model, momd).run()
    let file = try ModelFile(momd)
    #expect(file.version.lastPathComponent == "Model.mom")
    let document = try file.document()
    #expect(document.productModuleName == "App")
    guard case .attribute(let attribute)? = document.entities.first?.properties.first?.kind else {
      Issue.record("no attribute")
      return
    }
    #expect(attribute.defaultValue as? String == "a < \"b\" & c\nd\té")
    #expect(document.root.children(named: "elements").isEmpty)
  }

  @Test("Compiling again touches only what has changed, and versions that are gone go") func again() throws {
    let model = try TemporaryModel(#"<entity name="A" representedClassName="A" codeGenerationType="class"/>"#)
    let momd = model.folder.appendingPathComponent("Model.momd")
    let swift = model.folder.appendingPathComponent("Model.swift")
    try compilation(model, momd).run()
    let old = Date(timeIntervalSince1970: 1_000_000)
    try FileManager.default.setAttributes([.modificationDate: old], ofItemAtPath: swift.path)
    try Data().write(to: momd.appendingPathComponent("Gone.mom"))
    try model.write(#"<entity name="A" representedClassName="A" codeGenerationType="class" versionHashModifier="2"/>"#)
    try compilation(model, momd).run()
    let date = try FileManager.default.attributesOfItem(atPath: swift.path)[.modificationDate] as? Date
    #expect(date == old)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: momd.path).sorted() == ["Model.mom", "VersionInfo.plist"])
  }

  @Test("A current version that does not exist is an error") func missingCurrentVersion() throws {
    let model = try TemporaryModel("")
    let bundle = model.folder.appendingPathComponent("Model.xcdatamodeld")
    try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
    try FileManager.default.copyItem(at: model.file, to: bundle.appendingPathComponent("One.xcdatamodel"))
    let list = try PropertyListSerialization.data(
      fromPropertyList: ["_XCCurrentVersionName": "Two.xcdatamodel"], format: .xml, options: 0)
    try list.write(to: bundle.appendingPathComponent(".xccurrentversion"))
    let error = #expect(throws: ManagedObjectModelError.self) { try CompiledModel.files(of: bundle, module: "App") }
    #expect(error?.description.contains("Two.xcdatamodel") == true)
  }

  private func compilation(_ model: TemporaryModel, _ momd: URL) -> ModelCompilation {
    ModelCompilation(
      source: model.file, module: "App", swiftFile: model.folder.appendingPathComponent("Model.swift"), momd: momd)
  }
}
