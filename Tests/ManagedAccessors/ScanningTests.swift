import ManagedAccessors
import Testing

/// The scanner finds declarations in sources and explains those that cannot be supplied.
@Suite struct ScanningTests {
  private func source(_ text: String) -> AccessorSource {
    AccessorSource(module: "App", files: [(path: "/app/File.swift", contents: text)])
  }

  private func symbols(_ text: String) -> [String] {
    source(text).text.components(separatedBy: "@_silgen_name(\"").dropFirst().map { String($0.prefix { $0 != "\"" }) }
  }

  @Test func sourcesWithoutADeclarationGetNothing() {
    #expect(source("class Person: NSManagedObject { var name = 1 }").text.hasPrefix("// No declaration"))
  }

  @Test func tablesListComputedPropertiesAndValidations() {
    let text = source(
      """
      import CoreData
      class Person: NSManagedObject {
        var initial: String { "" }
        @objc var last: String { get { "" } set {} }
        func validateAge(_ value: AutoreleasingUnsafeMutablePointer<AnyObject?>) throws {}
        var stored = 1
        var observed: Int = 1 { didSet {} }
        lazy var later: Int = { 1 }()
        private var secret: String { "" }
        static var shared: Int { 1 }
        class var entityName: String { "Person" }
        public class var place: String { "" }
        @MainActor var shown: String { "" }
        var slow: Int { get async { 1 } }
        func validateName(_ value: String) throws {}
        func validateAll() throws {}
      }
      extension Person { var full: String { "" } }
      class Employee: Person { var desk: Int { 1 } }
      class Plain { var other: Int { 1 } }
      @MainActor class Shown: NSManagedObject { var title: String { "" } }
      """
    ).text
    let paths = text.components(separatedBy: "paths[").dropFirst().map { String($0.prefix { $0 != "]" }) }
    #expect(paths == ["\\Person.initial", "\\Person.last", "\\Person.full", "\\Employee.desk"])
    let methods = text.components(separatedBy: "methods[").dropFirst().map { String($0.prefix { $0 != "]" }) }
    #expect(methods == ["\"age\""])
    #expect(text.contains("{ try ($0 as! Person).validateAge($1) }"))
  }

  @Test func literalsAndCommentsAreNotSources() {
    let text = #"""
      import CoreData
      // @NSManaged var a: Int
      /* @NSManaged var b: Int /* } */ @NSManaged var c: Int */
      class Person: NSManagedObject {
        let one = "} @NSManaged var d: Int \("}" + #"\#("}")"#) "
        let two = """
          } @NSManaged var e: Int "
          """
        let three = #"} \(no) "@NSManaged var f: Int"#
        let four = /"}[{]/
        func divide(_ a: Int, _ b: Int) -> Int { a / b / (a) }
        @NSManaged var real: Int
      }
      """#
    #expect(symbols(text) == ["$s3App6PersonC4realSivg", "$s3App6PersonC4realSivs"])
  }

  @Test func modifiersMayStandOnBothSides() {
    let text = """
      class Person: NSManagedObject {
        public @NSManaged var a: Int
        @objc @NSManaged open override var b: Int
        @available(*, deprecated, message: "old") @NSManaged
        private(set) var c: Int
        class var shared: Int { 1 }
        class func make() {}
        static let other = 2
        @NSManaged var d, e: Int
      }
      """
    #expect(
      symbols(text).filter { $0.hasSuffix("vg") } == ["a", "b", "c", "d", "e"].map { "$s3App6PersonC1\($0)Sivg" })
  }

  @Test func conditionsAreLeftToTheCompiler() {
    let text = source(
      """
      class Person: NSManagedObject {
        #if os(Linux) && DEBUG // both
          @NSManaged var a: Int
        #elseif canImport(UIKit)
          @NSManaged var b: Int
        #else
          @NSManaged var c: UIImage
        #endif
      }
      """
    ).text
    #expect(text.contains("#if (os(Linux) && DEBUG)\n"))
    #expect(text.contains("#if !(os(Linux) && DEBUG) && (canImport(UIKit))\n"))
    // A type that cannot be named is an error only if the condition holds.
    #expect(
      text.contains(
        "#if !(os(Linux) && DEBUG) && !(canImport(UIKit))\n#sourceLocation(file: \"/app/File.swift\", line: 7)"))
  }

  @Test(arguments: [
    ("enum Kind: Int16 { case a }\nclass P: NSManagedObject { @NSManaged var x: Kind }", "2:44", "an enumeration"),
    ("private class S: NSManagedObject {}\nclass P: NSManagedObject { @NSManaged var x: S? }", "2:44", "S is private"),
    ("fileprivate final class P: NSManagedObject { @NSManaged var x: Int }", "1:61", "P is private"),
    ("struct S {}\nclass P: NSManagedObject { @NSManaged var x: S? }", "2:44", "a structure"),
    ("class P: NSManagedObject { @NSManaged var x: Unknown }", "1:44", "which module declares Unknown"),
    ("class P: NSManagedObject { @NSManaged var x: (Int, Int) }", "1:44", "not a type that a model can hold"),
    ("class P<T>: NSManagedObject { @NSManaged var x: Int }", "1:31", "generic class"),
    ("class P: NSManagedObject { @NSManaged func work() }", "1:44", "addTo…"),
    ("class P: NSManagedObject { @NSManaged func addToX(_ x: P) throws }", "1:44", "throws and returns nothing"),
    ("func f() { class P: NSManagedObject { @NSManaged var x: Int } }", "1:50", "outside functions"),
    ("class P: NSManagedObject { @NSManaged let x: Int }", "1:39", "variables and methods"),
    ("class P: NSManagedObject { @NSManaged var x = 1 }", "1:43", "needs its type written"),
  ])
  func whatCannotBeSuppliedIsAnErrorWithItsPlace(_ text: String, _ place: String, _ reason: String) {
    let errors = source(text).errors
    #expect(errors.count == 1)
    #expect(errors.first?.description.contains(reason) == true, "\(errors)")
    #expect(
      errors.first?.description.hasPrefix("/app/File.swift:\(place.split(separator: ":")[0]):") == true, "\(errors)")
  }
}
