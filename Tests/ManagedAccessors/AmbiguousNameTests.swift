import Testing

@testable import ManagedAccessors

/// Names that CoreData and Foundation both declare mean CoreData's in a module that uses them.
@Suite struct AmbiguousNameTests {
  private func text(_ sources: String...) -> String {
    let files = sources.enumerated().map { (path: "File\($0.offset).swift", contents: $0.element) }
    return AccessorSource(module: "App", files: files).text
  }

  @Test func aNameThatTheModuleUsesGetsAnAlias() {
    let text = text(
      "import CoreData\nimport Foundation\nfunc sum(_ e: NSExpression) -> [NSExpression] { [e] }",
      "import CoreData\nlet p: NSPredicate? = nil")
    #expect(text.contains("public import CoreData"))
    #expect(text.contains("public typealias NSExpression = CoreData.NSExpression"))
    #expect(!text.contains("NSComparisonPredicate"))
  }

  @Test func itStandsBesideAccessors() {
    let text = text(
      """
      import CoreData
      class Book: NSManagedObject { @NSManaged var title: String? }
      let kind = NSComparisonPredicate.self
      """)
    #expect(text.contains("extension Book") && text.contains("typealias NSComparisonPredicate ="))
  }

  @Test(arguments: [
    "import CoreData\nlet e: CoreData.NSExpression? = nil", "import Foundation\nlet e: NSExpression? = nil",
    "import CoreData\n// NSExpression\nlet s = \"NSExpression\"",
    "import CoreData\npublic typealias NSExpression = CoreData.NSExpression\nlet e: NSExpression? = nil",
  ])
  func noAliasIsMadeWhereNoneIsNeeded(source: String) { #expect(!text(source).contains("typealias")) }
}
