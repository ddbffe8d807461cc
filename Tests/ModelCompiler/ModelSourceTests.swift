import ModelFiles
import Testing

@testable import ClassGenerator

@Suite("Generated source") struct ModelSourceTests {
  @Test("Types follow Xcode's rules: scalars where the model says so, else optional objects")
  func types() throws {
    let types: [(attribute: String, type: String)] = [
      (#"attributeType="Integer 16" usesScalarValueType="YES""#, "Swift.Int16"),
      (#"attributeType="Integer 32" usesScalarValueType="YES" optional="YES""#, "Swift.Int32"),
      (#"attributeType="Integer 64" usesScalarValueType="YES""#, "Swift.Int64"),
      (#"attributeType="Double" usesScalarValueType="YES""#, "Swift.Double"),
      (#"attributeType="Float" usesScalarValueType="YES""#, "Swift.Float"),
      (#"attributeType="Boolean" usesScalarValueType="YES""#, "Swift.Bool"),
      (#"attributeType="Date" usesScalarValueType="YES""#, "Foundation.TimeInterval"),
      (#"attributeType="Integer 64""#, "Foundation.NSNumber?"),
      (#"attributeType="Boolean" usesScalarValueType="NO""#, "Foundation.NSNumber?"),
      (#"attributeType="Date""#, "Foundation.Date?"),
      (#"attributeType="String" defaultValueString="x""#, "Swift.String?"),
      (#"attributeType="Binary""#, "Foundation.Data?"),
      (#"attributeType="UUID""#, "Foundation.UUID?"),
      (#"attributeType="URI""#, "Foundation.URL?"),
      (#"attributeType="Decimal""#, "Foundation.NSDecimalNumber?"),
      (#"attributeType="ObjectID""#, "CoreData.NSManagedObjectID?"),
      (#"attributeType="Transformable""#, "Foundation.NSObject?"),
      (#"attributeType="Transformable" customClassName="Colour""#, "Colour?"),
      (#"attributeType="Composite" composite="C""#, "[Swift.String: Any]?"),
      (#"attributeType="Integer 64" derived="YES" derivationExpression="1" usesScalarValueType="YES""#, "Swift.Int64"),
    ]
    for (attribute, type) in types {
      let source = try TemporaryModel(
        #"<entity name="A" representedClassName=".A" codeGenerationType="class"><attribute name="x" "#
          + #"\#(attribute)/></entity>"#
          + #"<composite name="C"><attribute name="part" attributeType="String"/></composite>"#
      ).source()
      #expect(source.contains("public var x: \(type) {"), "\(attribute)")
    }
  }

  @Test("Where no class is generated, nothing is imported: the compiler would warn of it") func nothingToGenerate()
    throws
  {
    let source = try TemporaryModel(#"<entity name="A" representedClassName="A"/>"#).source()
    #expect(source == "// Made from Model by ModelCompiler. Do not edit: change the model.\n")
  }

  @Test("Code generation decides: a class, an extension, nothing") func codeGeneration() throws {
    func source(_ type: String) throws -> String {
      try TemporaryModel(#"<entity name="A" representedClassName="A" \#(type)/>"#).source()
    }
    #expect(try source(#"codeGenerationType="class""#).contains("public class A: CoreData.NSManagedObject {}"))
    let category = try source(#"codeGenerationType="category""#)
    #expect(!category.contains("class A:") && category.contains("extension A {"))
    #expect(try !source("").contains("A {"))
  }

  @Test("Relationships to an entity without a class hold NSManagedObject, to one of another module its class")
  func destinations() throws {
    let source = try TemporaryModel(
      """
      <entity name="A" representedClassName=".A" parentEntity="Base" codeGenerationType="class">
        <relationship name="b" optional="YES" maxCount="1" destinationEntity="B"/>
        <relationship name="c" optional="YES" maxCount="1" destinationEntity="C"/>
      </entity>
      <entity name="B"/>
      <entity name="C" representedClassName="Other.C"/>
      <entity name="Base" representedClassName="Root"/>
      """
    ).source()
    #expect(source.contains("public class A: Root {}"))
    #expect(source.contains("public var b: CoreData.NSManagedObject? {"))
    #expect(source.contains("public var c: Other.C? {"))
  }

  @Test("A property that is declared again below is inherited, and only the topmost class is made identifiable")
  func inheritance() throws {
    let source = try TemporaryModel(
      """
      <entity name="A" representedClassName=".A" codeGenerationType="class">
        <attribute name="x" attributeType="String"/>
      </entity>
      <entity name="B" representedClassName=".B" parentEntity="A" codeGenerationType="class">
        <attribute name="x" attributeType="String"/>
      </entity>
      """
    ).source()
    #expect(source.components(separatedBy: "public var x:").count == 2)
    #expect(source.components(separatedBy: "Swift.Identifiable").count == 2)
  }

  @Test(
    "A faulty model is an error with file, line, entity and property",
    arguments: [
      (#"<attribute name="description" attributeType="String"/>"#, "3: error: A.description has a name that"),
      (#"<attribute name="a b" attributeType="String"/>"#, "3: error: A.a b has a name that Swift does not allow"),
      (#"<attribute name="x" attributeType="Colour"/>"#, "3: error: A.x has the unknown attribute type Colour"),
      (
        #"<attribute name="x" attributeType="Integer 16" minValueString="few"/>"#,
        "3: error: A.x has the minValueString"
      ),
      (#"<attribute name="x" attributeType="Composite" composite="C"/>"#, "3: error: A.x is of the composite type C"),
      (#"<relationship name="r" destinationEntity="B"/>"#, "3: error: A.r leads to the entity B"),
      (
        #"<relationship name="r" destinationEntity="A" inverseName="q"/>"#,
        "3: error: A.r has the inverse A.q, which does not exist"
      ),
      (
        #"<fetchedProperty name="f"><fetchRequest entity="Z"/></fetchedProperty>"#, "3: error: A.f fetches the entity Z"
      ),
      (
        #"</entity><entity name="B" representedClassName=".A" codeGenerationType="class">"#,
        "3: error: the entity B has the class A, which is generated for A already"
      ),
      (#"</entity><entity name="B" codeGenerationType="class">"#, "3: error: the entity B has no class of its own"),
      (
        #"</entity><entity name="B" representedClassName=".B C" codeGenerationType="class">"#,
        "3: error: the entity B has the class name B C, which is not a name in Swift"
      ),
      (noted("Integer 16", ["type": "String"]), "3: error: A.x has the swift.type String; it can be Int16, Int, Int32"),
      (noted("String", ["type": "Colour"]), "3: error: A.x has the swift.type Colour: it needs a swift.default"),
      (
        noted("String", ["type": "Colour?", "default": ".red"]), "3: error: A.x has a swift.default, but its swift.type"
      ),
      (
        noted("Transformable", ["type": "Colour?"]),
        "3: error: A.x has a swift.type, which attributes of its type cannot"
      ),
      (noted("String", ["acces": "public"]), "3: error: A.x has the user info swift.acces, which means nothing here"),
      (noted("String", ["access": "open"]), "3: error: A.x has the swift.access open; it is one of public"),
      (noted("String", ["name": "a b"]), "3: error: A.x has a name that Swift does not allow"),
      (#"<attribute"#, "error: the model is not well-formed XML"),
    ]) func faults(body: String, message: String) throws
  {
    let model = try TemporaryModel(
      """

      <entity name="A" representedClassName=".A" codeGenerationType="class">
      \(body)
      </entity>
      """)
    let error = #expect(throws: ManagedObjectModelError.self) { try model.source() }
    #expect(error?.diagnostic.contains("/contents:\(message)") == true || error?.diagnostic.contains(message) == true)
    #expect(error?.diagnostic.contains("Model.xcdatamodel/contents:") == true)
  }

  @Test("The notes in an attribute's user info decide its type, name, access and docstring")
  func notes() throws {
    let notes = [
      "type": "State", "default": ".dead", "name": "y", "access": "public internal(set)", "documentation": "One.",
    ]
    let source = try TemporaryModel(
      #"<entity name="A" representedClassName=".A" codeGenerationType="class">\#(noted("Integer 16", notes))</entity>"#
    ).source()
    #expect(source.contains("static let _y = CoreData.ManagedProperty<Int16?>(\"x\")"))
    #expect(
      source.contains(
        """
          /// One.
          public internal(set) var y: State {
            get { self[Keys__A._y].flatMap(State.init(rawValue:)) ?? .dead }
            set { self[Keys__A._y] = newValue.rawValue }
          }

        """))
    #expect(source.contains("\\A.y: \"x\""))
  }
}

/// An attribute x with notes for the generator, on one line.
private func noted(_ type: String, _ notes: [String: String]) -> String {
  let entries = notes.sorted { $0.key < $1.key }.map { #"<entry key="swift.\#($0.key)" value="\#($0.value)"/>"# }
  return #"<attribute name="x" attributeType="\#(type)"><userInfo>\#(entries.joined())</userInfo></attribute>"#
}
