import Foundation
import ManagedAccessors
import TestFiles
import Testing

/// The symbols that the generated file supplies equal those that the compiler leaves undefined.
@Suite struct MangledNameTests {
  /// A module of generated classes with members of random names and types.
  private struct GeneratedSource {
    private var random: RandomNumber
    private(set) var text = """
      import Foundation
      class Base: NSObject {}
      class Team: Base { class Nested: Base { final class Deep: Base {} } }
      enum Space { class Inside: Base {} }
      extension Space { class Later: Base {} }
      struct TeamTeam { class Name: Base {} }
      typealias Teams = Set<Team>
      // End of what the files share.

      """

    init(seed: UInt64) {
      random = RandomNumber(state: seed)
      let places = ["", "Team", "Team.Nested", "Space", "TeamTeam"]
      for index in 0..<12 {
        let access = ["", "public ", "internal ", "final "][random.next(4)]
        let place = places[random.next(places.count)]
        let name = identifier(capital: true) + "\(index)"
        let body = (0..<8).map { member($0) }.joined(separator: "\n")
        let declaration = "\(access == "public " ? "" : access)class \(name): Base {\n\(body)\n}\n"
        text += place.isEmpty ? declaration : "extension \(place) {\n\(declaration)}\n"
        if place.isEmpty {
          text += "\(["", "private "][random.next(2)])extension \(name) {\n\(member(8))\n\(member(9))\n}\n"
        }
      }
    }

    private mutating func identifier(capital: Bool) -> String {
      let words = ["team", "name", "URL", "a", "id", "x2", "Foundation", "date", "of", "Set", "_", "ß", "Größe", "my"]
      var name = (0...random.next(3)).map { _ in words[random.next(words.count)].capitalizedFirst }.joined()
      if !capital { name = name.prefix(1).lowercased() + name.dropFirst() }
      return capital ? "C" + name : "p" + name
    }

    private mutating func member(_ index: Int) -> String {
      let access = ["", "private ", "fileprivate ", "internal ", "private(set) "][random.next(5)]
      let name = identifier(capital: false) + "\(index)"
      if random.next(5) == 0 {
        let parameters = ["_ value: Team", "_ values: NSSet", "_ values: Set<Team>", "_ value: Team.Nested.Deep"]
        return "  @NSManaged \(access.contains("(") ? "" : access)func addTo\(name.capitalizedFirst)("
          + "\(parameters[random.next(parameters.count)]))"
      }
      return "  @NSManaged \(access)var \(name): \(type(depth: 0))"
    }

    private mutating func type(depth: Int) -> String {
      let plain = [
        "String", "Int64", "Int32", "Int16", "Int", "Bool", "Double", "Float", "Date", "UUID", "URL", "Data", "Decimal",
        "NSNumber", "NSDecimalNumber", "NSSet", "NSOrderedSet", "NSDate", "NSObject", "IndexSet", "Locale", "Team",
        "Team.Nested", "Team.Nested.Deep", "Space.Inside", "Space.Later", "TeamTeam.Name", "Teams", "TimeInterval",
        "Foundation.Date", "Swift.String", "AnyObject", "Any",
      ]
      switch random.next(depth == 0 ? 10 : 7) {
      case 7: return "Set<\(["Team", "Team.Nested", "Space.Later", "String"][random.next(4)])>"
      case 8: return ["[\(type(depth: 1))]", "[String: \(type(depth: 1))]"][random.next(2)]
      case 9: return type(depth: 1) + "?"
      default: return plain[random.next(plain.count)] + (random.next(2) == 0 ? "?" : "")
      }
    }
  }

  /// Random numbers that are the same for the same seed.
  private struct RandomNumber {
    var state: UInt64

    mutating func next(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }
  }

  @Test func everySymbolThatTheCompilerAsksForIsSupplied() throws {
    let folder = temporaryURL("mangling")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    // One file for each seed, all in one module, so that the compiler starts once.
    let files = (1...6).map { seed in
      let text = GeneratedSource(seed: UInt64(seed)).text
      let shared = text.range(of: "\n// End of what")!.lowerBound
      return (
        path: folder.appendingPathComponent("File\(seed).swift").path,
        contents: seed == 1
          ? text : "import Foundation\n" + text[shared...].replacing("class C", with: "class C\(seed)")
      )
    }
    // Extensions of the classes renamed above.
    let renamed = files.enumerated().map { index, file in
      (
        path: file.path,
        contents: index == 0 ? file.contents : file.contents.replacing("extension C", with: "extension C\(index + 1)")
      )
    }
    for file in renamed { try file.contents.write(toFile: file.path, atomically: true, encoding: .utf8) }
    let object = folder.appendingPathComponent("module.o").path
    try run(
      ["swiftc", "-swift-version", "5", "-suppress-warnings", "-wmo", "-c", "-module-name", "My_App", "-o", object]
        + renamed.map(\.path))
    let undefinedSymbols = try Set(
      run(["nm", "--undefined-only", object]).split(separator: "\n")
        .compactMap { $0.split(separator: " ").last.map(String.init) }.filter { $0.hasPrefix("$s6My_App") })
    let source = AccessorSource(module: "My_App", files: renamed)
    #expect(source.errors.isEmpty, "\(source.errors)")
    let supplied = Set(
      source.text.components(separatedBy: "@_silgen_name(\"").dropFirst().map { String($0.prefix { $0 != "\"" }) })
    #expect(undefinedSymbols.count > 500, "The compiler asks for \(undefinedSymbols.count) symbols.")
    #expect(undefinedSymbols.subtracting(supplied).sorted() == [])
  }

  @discardableResult
  private func run(_ command: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.standardError
    try process.run()
    let text = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    try #require(process.terminationStatus == 0, "\(command[0]) failed")
    return String(decoding: text, as: UTF8.self)
  }
}

extension String {
  fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
