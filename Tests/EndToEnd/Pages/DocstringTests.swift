import Foundation
import Testing

/// The examples that public docstrings show compile.
@Suite struct DocstringTests {
  static let modules = [
    "CoreData", "CoreDataPostgreSQL", "Jobs", "PoolClient", "StoreTools", "WorkerKit", "WorkerKitTesting",
    "WorkerPool",
  ]

  @Test(.timeLimit(.minutes(20)), arguments: modules)
  func theSwiftOfDocstringsCompiles(module: String) throws {
    let errors = try Self.errors(in: Docstrings.examples(in: "Sources/" + module).filter { $0.language == "swift" })
    #expect(errors == "", "\(errors)")
  }

  /// Code that no fence marks as Swift would not be compiled.
  @Test(arguments: modules)
  func everyBlockOfAPublicDocstringIsOfAKindThatIsTested(module: String) {
    for example in Docstrings.examples(in: "Sources/" + module) where example.isPublic {
      #expect(["swift", "text"].contains(example.language), "\(example.place): \(example.language)")
    }
  }

  /// Readers would see the part below the comment only.
  @Test(arguments: modules)
  func noOrdinaryCommentDividesADocstring(module: String) {
    #expect(Docstrings.files(in: "Sources/" + module).flatMap { Docstrings.divisions(of: $1, in: $0) } == [])
  }

  @Test func anOrdinaryCommentThatDividesADocstringIsFound() {
    let text = """
      /// A.
      // Why.
      // Still why.
      /// B.
      public let a = 1
      /// C.
      // Why.
      let b = 2
      """
    #expect(Docstrings.divisions(of: text, in: "A.swift") == ["A.swift:2"])
  }

  @Test(.timeLimit(.minutes(20)))
  func anExampleThatDoesNotCompileIsFound() throws {
    let text = """
      /// ```swift
      /// book.title = "Emma"
      /// book.titel = "Emma"
      /// ```
      public let a = 1
      /// ```swift
      /// import WorkerKit
      ///
      /// @main struct Broken: Worker {
      ///   func run(_ job: Job, in context: NSManagedObjectContext) throws {}
      /// }
      /// ```
      public let b = 2
      """
    let errors = try Self.errors(in: Docstrings.examples(of: text, in: "Broken.swift"))
    #expect(errors.contains("Broken.swift:1:2:6: error: value of type 'Book' has no member 'titel'"), "\(errors)")
    #expect(errors.contains("Broken.swift:6:3:8: error: type 'Example1.Broken' does not conform"), "\(errors)")
  }

  @Test func examplesOfDocstringsAreFound() {
    let ofCoreData = Docstrings.examples(in: "Sources/CoreData")
    #expect(ofCoreData.contains { $0.place.hasPrefix("Sources/CoreData/Requests/NSFetchRequest.swift:") })
    let text = """
      /// A.
      ///
      /// ```swift
      /// if true {
      ///   f()
      /// }
      /// ```
      @inlinable public func a() {}
      /// B.
      ///
      ///     indented
      ///
      /// ```
      /// ```
      let b = 1
      """
    let examples = Docstrings.examples(of: text, in: "A.swift")
    #expect(examples.map(\.text) == ["if true {\n  f()\n}\n", "    indented\n", ""])
    #expect(examples.map(\.language) == ["swift", "indented", ""])
    #expect(examples.map(\.isPublic) == [true, false, false])
    #expect(examples.map(\.place) == ["A.swift:3", "A.swift:11", "A.swift:13"])
  }

  // MARK: Compiling

  /// What the compiler finds wrong with the examples, with the place of the docstring and the line in the example.
  private static func errors(in examples: [Docstrings.Example]) throws -> String {
    let place = try TestPlace()
    let compiler = PageCompiler(place)
    try compiler.add(model: model, at: "Library.xcdatamodel/contents")
    // One compilation for all: each example is a function, or a namespace of its own if it is a program or types.
    let imports = modules.map { "import \($0)\n" }.joined()
    return try compiler.errors(in: imports + examples.enumerated().map { declaration($1, number: $0) }.joined())
  }

  private static func declaration(_ example: Docstrings.Example, number: Int) -> String {
    var imports = ""
    var body = ""
    for line in example.text.split(separator: "\n", omittingEmptySubsequences: false) {
      // The compiler counts lines from the example's own first one.
      if line.hasPrefix("import ") { imports += line + "\n" }
      body += (line.hasPrefix("import ") ? "" : line.replacingOccurrences(of: "@main ", with: "")) + "\n"
    }
    let isOfTypes = example.text.contains("@main ") || example.text.contains("NSManagedObject {")
    let head =
      isOfTypes
      ? "enum Example\(number) {\n"
      : """
      nonisolated(nonsending) func example\(number)(
        container: NSPersistentContainer, coordinator: NSPersistentStoreCoordinator, context: NSManagedObjectContext,
        model: NSManagedObjectModel, url: URL, book: Book, author: Author, lastToken: NSPersistentHistoryToken?,
        delegate: any NSFetchedResultsControllerDelegate
      ) async throws {
      var lastToken = lastToken
      _ = lastToken
      lastToken = nil

      """
    return """
      \(imports)\(head)#sourceLocation(file: "\(example.place)", line: 1)
      \(body)#sourceLocation()
      }

      """
  }

  /// The one model that the examples use: authors and their books.
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
    var text = ""
    /// The word behind the fence; "indented" for code that only its indentation marks.
    var language: String
    /// The file and the line of the fence.
    var place: String
    /// Whether the docstring is one of a public declaration.
    var isPublic = false
  }

  static func examples(in folder: String) -> [Example] {
    files(in: folder).flatMap { examples(of: $1, in: $0) }
  }

  /// The Swift files of a folder, by their paths in the package.
  static func files(in folder: String) -> [(path: String, text: String)] {
    let root = DocumentationPage.package
    let names = FileManager.default.enumerator(atPath: root.appendingPathComponent(folder).path)
    var files: [(path: String, text: String)] = []
    for case let name as String in names ?? .init() where name.hasSuffix(".swift") {
      let path = folder + "/" + name
      files.append((path, (try? String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)) ?? ""))
    }
    return files
  }

  /// Where ordinary comments divide docstrings.
  static func divisions(of text: String, in file: String) -> [String] {
    var divisions: [String] = []
    /// The line of the ordinary comment that follows the docstring before.
    var division: Int?
    var isInDocstring = false
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let line = line.drop { $0 == " " }
      if line.hasPrefix("///") {
        if let division { divisions.append("\(file):\(division)") }
        (isInDocstring, division) = (true, nil)
      } else if line.hasPrefix("//"), isInDocstring {
        division = division ?? index + 1
      } else {
        (isInDocstring, division) = (false, nil)
      }
    }
    return divisions
  }

  static func examples(of text: String, in file: String) -> [Example] {
    var examples: [Example] = []
    /// The examples of the docstring whose declaration is still to come.
    var ofDocstring: [Example] = []
    var open: Example?
    var isAfterEmptyLine = true
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let line = line.drop { $0 == " " }
      guard line.hasPrefix("///") else {
        if line.hasPrefix("@"), !isDeclaration(line) { continue }
        for example in ofDocstring {
          var example = example
          example.isPublic = isPublic(line)
          examples.append(example)
        }
        (ofDocstring, open, isAfterEmptyLine) = ([], nil, true)
        continue
      }
      let comment = line.dropFirst(line.hasPrefix("/// ") ? 4 : 3)
      if comment.hasPrefix("```") {
        if let example = open { ofDocstring.append(example) }
        open = open == nil ? Example(language: String(comment.dropFirst(3)), place: "\(file):\(index + 1)") : nil
      } else if open != nil {
        open?.text += comment + "\n"
      } else if comment.hasPrefix("    "), isAfterEmptyLine {
        ofDocstring.append(Example(text: comment + "\n", language: "indented", place: "\(file):\(index + 1)"))
      }
      isAfterEmptyLine = comment.isEmpty
    }
    return examples
  }

  private static func words(_ line: Substring) -> [Substring] { line.split { $0 == " " || $0 == "(" } }

  private static func isPublic(_ line: Substring) -> Bool { words(line).contains { $0 == "public" || $0 == "open" } }

  /// Whether the line of an attribute has the declaration too.
  private static func isDeclaration(_ line: Substring) -> Bool {
    let keywords: Set<Substring> = ["var", "let", "func", "init", "struct", "class", "enum", "protocol", "typealias"]
    return words(line).contains { keywords.contains($0) }
  }
}
