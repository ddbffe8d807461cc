import Foundation
import ModelFiles
import Testing

@testable import ClassGenerator

@Suite("Compiling a model") struct ModelCompilationTests {
  @Test("The compiled model reads as its source does, whatever characters are in it") func compiledReadsTheSame() throws
  {
    let model = try TemporaryModel(
      """
      <entity name="A">
      <attribute name="t" attributeType="String" defaultValueString="a &lt; &quot;b&quot; &amp; c&#10;d&#9;é"/>
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

  @Test("VersionInfo.plist has the hashes of all versions, and the current one if the source names it")
  func versionInfo() throws {
    let model = try TemporaryModel(#"<entity name="User"><attribute name="name" attributeType="String"/></entity>"#)
    let bundle = model.folder.appendingPathComponent("Model.xcdatamodeld")
    for version in ["One", "Two"] {
      let folder = bundle.appendingPathComponent("\(version).xcdatamodel")
      try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
      try FileManager.default.copyItem(at: model.file, to: folder)
      try model.write(
        """
        <entity name="User"><attribute name="name" attributeType="String"/>
        <attribute name="petName" optional="YES" attributeType="String"/></entity>
        """)
    }
    func info() throws -> [String: Any]? {
      let (files, _) = try CompiledModel.files(of: bundle, module: "App")
      let data = try #require(files["VersionInfo.plist"])
      return try PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any]
    }
    let hashes = try #require(try info()?["NSManagedObjectModel_VersionHashes"] as? [String: [String: Data]])
    // Apple's tools recorded this one for the same entity.
    #expect(hashes["Two"]?["User"]?.base64EncodedString() == "azH06XtpHRbEyCC65V+JQI1HATvUIVHs/eHqx/5L55g=")
    #expect(hashes["One"]?["User"]?.count == 32 && hashes["One"] != hashes["Two"])
    try #expect(info()?["NSManagedObjectModel_CurrentVersionName"] == nil)
    let list = try PropertyListSerialization.data(
      fromPropertyList: ["_XCCurrentVersionName": "Two.xcdatamodel"], format: .xml, options: 0)
    try list.write(to: bundle.appendingPathComponent(".xccurrentversion"))
    try #expect(info()?["NSManagedObjectModel_CurrentVersionName"] as? String == "Two")
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

  @Test("A bundle may be a symbolic link") func symbolicLink() throws {
    let model = try TemporaryModel(#"<entity name="A"/>"#)
    let bundle = model.folder.appendingPathComponent("Model.xcdatamodeld")
    try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
    try FileManager.default.copyItem(at: model.file, to: bundle.appendingPathComponent("One.xcdatamodel"))
    let link = model.folder.appendingPathComponent("Link.xcdatamodeld")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: bundle)
    #expect(try ModelFile.versions(of: link).map(\.lastPathComponent) == ["One.xcdatamodel"])
    #expect(try ModelFile(link).document().entities.map(\.name) == ["A"])
  }

  private func compilation(_ model: TemporaryModel, _ momd: URL) -> ModelCompilation {
    ModelCompilation(
      source: model.file, module: "App", swiftFile: model.folder.appendingPathComponent("Model.swift"), momd: momd)
  }
}
