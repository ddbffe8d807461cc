import Foundation
import Testing

/// The Swift that public docstrings show compiles.
@Suite struct DocstringTests {
  static let modules = ["CoreData", "CoreDataPostgreSQL", "WorkerKit", "PoolClient"]

  @Test(.timeLimit(.minutes(20)), arguments: modules)
  func theSwiftOfDocstringsCompiles(module: String) throws {
    let place = try TestPlace()
    let compiler = PageCompiler(place)
    try compiler.add(model: Self.model, at: "Library.xcdatamodel/contents")
    var functions = ""
    for example in Docstrings.examples(in: "Sources/" + module) {
      // A program, or types, stand in a file of their own.
      if example.text.contains("@main") || example.text.contains("NSManagedObject {") {
        let errors = try compiler.errors(in: example.text)
        #expect(errors == "", "\(example.place): \(errors)")
      } else {
        functions += Self.function(example)
      }
    }
    let imports = Self.modules.map { "import \($0)\n" }.joined()
    let errors = try compiler.errors(in: imports + functions)
    #expect(errors == "", "\(errors)")
  }

  @Test func examplesOfDocstringsAreFound() {
    let found = Docstrings.examples(in: "Sources/CoreData")
    #expect(found.contains { $0.place.hasPrefix("Sources/CoreData/Requests/NSFetchRequest.swift:") })
    let text = "/// A.\n///\n/// ```swift\n/// if true {\n///   f()\n/// }\n/// ```\nlet a = 1\n"
    #expect(Docstrings.examples(of: text).map(\.text) == ["if true {\n  f()\n}\n"])
  }

  /// What examples may use without saying where it comes from. The compiler counts lines from the example's own.
  private static func function(_ example: Docstrings.Example) -> String {
    var imports = ""
    var body = ""
    for line in example.text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("import ") { imports += line + "\n" } else { body += "  " + line + "\n" }
    }
    return """
      \(imports)
      nonisolated(nonsending) func example\(example.number)(
        container: NSPersistentContainer, coordinator: NSPersistentStoreCoordinator, context: NSManagedObjectContext,
        model: NSManagedObjectModel, url: URL, book: Book, author: Author, lastToken: NSPersistentHistoryToken?,
        delegate: any NSFetchedResultsControllerDelegate
      ) async throws {
        var lastToken = lastToken
        _ = lastToken
        lastToken = nil
        #sourceLocation(file: "\(example.place)", line: 1)
      \(body)
        #sourceLocation()
      }

      """
  }

  private static let model = """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" sourceLanguage="Swift">
      <entity name="Author" representedClassName="Author" codeGenerationType="class">
        <attribute name="name" optional="YES" attributeType="String"/>
        <relationship name="books" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Book" \
    inverseName="author" inverseEntity="Book"/>
      </entity>
      <entity name="Book" representedClassName="Book" codeGenerationType="class">
        <attribute name="title" optional="YES" attributeType="String"/>
        <attribute name="pages" attributeType="Integer 64" defaultValueString="0" usesScalarValueType="YES"/>
        <attribute name="isRead" attributeType="Boolean" defaultValueString="NO" usesScalarValueType="YES"/>
        <relationship name="author" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Author" \
    inverseName="books" inverseEntity="Author"/>
      </entity>
    </model>
    """
}

/// The examples in the docstrings of a module's files.
enum Docstrings {
  struct Example {
    var text: String
    /// The file and the line of the fence.
    var place: String
    var number: Int
  }

  static func examples(in folder: String) -> [Example] {
    let root = DocumentationPage.package
    let files = FileManager.default.enumerator(atPath: root.appendingPathComponent(folder).path)
    var found: [Example] = []
    for case let file as String in files ?? .init() where file.hasSuffix(".swift") {
      let path = folder + "/" + file
      let text = (try? String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)) ?? ""
      for var example in examples(of: text) {
        example.place = path + example.place
        example.number = found.count
        found.append(example)
      }
    }
    return found
  }

  static func examples(of text: String) -> [Example] {
    var found: [Example] = []
    var open: Example?
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let line = line.drop { $0 == " " }
      if line.hasPrefix("/// ```swift") {
        open = Example(text: "", place: ":\(index + 1)", number: found.count)
      } else if line.hasPrefix("/// ```"), let example = open {
        found.append(example)
        open = nil
      } else if line.hasPrefix("///") {
        open?.text += line.dropFirst(line.hasPrefix("/// ") ? 4 : 3) + "\n"
      }
    }
    return found
  }
}
