import Foundation
import TestFiles
import Testing

@testable import CoreData

@Suite("Rules in model files") struct ModelRuleTests {
  private func entity(_ attributes: String, extra: String = "") throws -> NSEntityDescription {
    let url = temporaryURL("model").appendingPathExtension("xcdatamodel")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: url) }
    try Data("<model><entity name=\"A\">\(attributes)</entity>\(extra)</model>".utf8)
      .write(to: url.appendingPathComponent("contents"))
    let model = try NSManagedObjectModel.load(contentsOf: url)
    // Entities live as long as their model.
    let entity = try #require((model.copy() as? NSManagedObjectModel)?.entities.first)
    return entity
  }

  /// The code of the first rule that the value breaks; nil for a valid value.
  private func broken(_ property: NSPropertyDescription?, _ value: Any) -> Int? {
    guard let property else { return -1 }
    return zip(property.validationPredicates, property.validationWarnings)
      .first { !$0.0.evaluate(with: value) }
      .flatMap { ($0.1 as? NSNumber)?.intValue }
  }

  @Test("Limits of numbers, texts and dates become predicates with Apple's codes") func limits() throws {
    let entity = try entity(
      """
      <attribute name="n" attributeType="Integer 16" minValueString="1" maxValueString="5"/>
      <attribute name="d" attributeType="Double" minValueString="-0.5" maxValueString="5.25"/>
      <attribute name="t" attributeType="String" minValueString="2" maxValueString="4" \
      regularExpressionString="^[a-z]*$"/>
      <attribute name="w" attributeType="Date" minDateTimeInterval="1000" maxDateTimeInterval="2000"/>
      """)
    let properties = entity.propertiesByName
    #expect(broken(properties["n"], NSNumber(value: 0)) == 1620)
    #expect(broken(properties["n"], NSNumber(value: 6)) == 1610)
    #expect(broken(properties["n"], NSNumber(value: 5)) == nil)
    #expect(broken(properties["d"], NSNumber(value: -0.75)) == 1620)
    #expect(broken(properties["d"], NSNumber(value: 5.25)) == nil)
    #expect(broken(properties["t"], "a") == 1670)
    #expect(broken(properties["t"], "abcde") == 1660)
    #expect(broken(properties["t"], "A1") == 1680)
    #expect(broken(properties["t"], "abc") == nil)
    #expect(broken(properties["w"], Date(timeIntervalSinceReferenceDate: 999)) == 1640)
    #expect(broken(properties["w"], Date(timeIntervalSinceReferenceDate: 2001)) == 1630)
    #expect(broken(properties["w"], Date(timeIntervalSinceReferenceDate: 1500)) == nil)
  }

  @Test("Derived attributes have their expression") func derived() throws {
    let entity = try entity(
      """
      <attribute name="title" attributeType="String"/>
      <attribute name="plain" attributeType="String" derived="YES" derivationExpression="canonical:(title)"/>
      <attribute name="changed" attributeType="Date" derived="YES" derivationExpression="now()"/>
      """)
    let plain = try #require(entity.propertiesByName["plain"] as? NSDerivedAttributeDescription)
    #expect(plain.derivationExpression != nil)
    let changed = try #require(entity.propertiesByName["changed"] as? NSDerivedAttributeDescription)
    #expect(changed.derivationExpression != nil)
  }

  @Test("A fetch index has direction and predicate") func indexes() throws {
    let entity = try entity(
      """
      <attribute name="title" attributeType="String"/><attribute name="size" attributeType="Integer 32"/>
      <fetchIndex name="bySize" partialIndexPredicate="size &gt; 10">
        <fetchIndexElement property="size" type="Binary" order="descending"/>
        <fetchIndexElement property="title" type="Binary" order="ascending"/>
      </fetchIndex>
      """)
    let index = try #require(entity.indexes.first)
    #expect(index.elements.map(\.isAscending) == [false, true])
    #expect(index.partialIndexPredicate != nil)
    #expect(index.elements[0].property === entity.propertiesByName["size"])
  }
}
