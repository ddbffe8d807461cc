import Foundation
import Jobs
import Testing

/// Everything that README and the pages show is run, compiled or read: a page that does not work any more fails.
@Suite struct PageTests {
  /// The languages of blocks, and what happens with a block of each.
  private static let languages: Set<String> = [
    "sh",  // run, from the page's top to its end
    "text",  // behind commands: what they print; elsewhere a drawing, which says so
    "swift",  // compiled
    "python", "xml",  // files that commands of the page use
    "yaml",  // a file: of Prometheus, which its promtool checks, or of Patroni, which ClusterTests run
    "json",  // read; a job file by the pool's own reader
    "sql",  // explained by SQLite on a pool's store
    "ini",  // a file, or the output of a command
  ]

  @Test func allCataloguesAreFound() {
    for catalogue in ["CoreData", "WorkerKit", "PoolClient", "WorkerPool", "WorkerProtocol"] {
      #expect(DocumentationPage.all.contains { $0.path.contains("\(catalogue).docc/") }, "\(catalogue)")
    }
    #expect(DocumentationPage.all.contains { $0.path == "README.md" && $0.blocks.count > 5 })
  }

  @Test(arguments: DocumentationPage.all)
  func everyBlockIsOfAKindThatIsTested(page: DocumentationPage) {
    #expect(page.indentedCode.isEmpty, "\(page.path): write fences around the code in lines \(page.indentedCode)")
    var previous: DocumentationPage.Block?
    for block in page.blocks {
      defer { previous = block }
      #expect(Self.languages.contains(block.language), "\(page.path):\(block.line): \(block.language)")
      for case .unknown(let comment) in block.notes {
        Issue.record("\(page.path):\(block.line): this comment before a block means nothing: \(comment)")
      }
      let isFile = block.file != nil
      let isExcused = block.reasonNotToRun != nil
      if ["python", "xml", "ini", "yaml"].contains(block.language) {
        #expect(isFile || isExcused, "\(page.path):\(block.line): no command uses this block")
      }
      if block.language == "text" {
        let followsCommand = previous?.language == "sh"
        #expect(followsCommand || isFile || isExcused, "\(page.path):\(block.line): what is this text?")
      }
    }
  }

  @Test(
    .timeLimit(.minutes(20)), arguments: DocumentationPage.all.filter { $0.blocks.contains { $0.language == "sh" } })
  func theCommandsOfAPageDoWhatItSays(page: DocumentationPage) throws {
    let place = try TestPlace()
    let script = PageScript(page)
    try place.write(script.text, to: "page/.script")
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["bash", ".script"]
    process.currentDirectoryURL = place.url.appendingPathComponent("page")
    process.environment = ProcessInfo.processInfo.environment.merging([
      "PAGE_COMMANDS": PageScript.standIns, "PAGE_PROGRAMS": Built.directory,
      "PAGE_ROOT": DocumentationPage.package.path,
      "NO_COLOR": "1", "HOME": place.url.path,
    ]) { $1 }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = output
    try process.run()
    try output.fileHandleForWriting.close()
    let said = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(page.path): \(said)")
    for (block, line) in script.expected {
      let printed = (try? String(contentsOfFile: place.path("page/out.\(line)"), encoding: .utf8)) ?? ""
      if let missing = PageScript.missing(block.text, in: printed) {
        Issue.record("\(page.path):\(block.line): the command of line \(line) does not print \(missing)\n\(printed)")
      }
    }
  }

  @Test(
    .timeLimit(.minutes(20)), arguments: DocumentationPage.all.filter { $0.blocks.contains { $0.language == "swift" } })
  func theSwiftOfAPageCompiles(page: DocumentationPage) throws {
    let place = try TestPlace()
    let compiler = PageCompiler(place)
    for block in page.blocks {
      if let path = block.file, path.hasSuffix("/contents") { try compiler.add(model: block.text, at: path) }
    }
    let isPackage = page.blocks.contains { $0.file == "Package.swift" }
    var program = ""
    for block in page.blocks where block.language == "swift" && block.reasonNotToRun == nil {
      // The page's commands build its package.
      if isPackage && block.file != nil { continue }
      program = (block.continues ? program : "") + block.text
      let errors = try compiler.errors(in: program)
      #expect(errors == "", "\(page.path):\(block.line): \(errors)")
    }
  }

  @Test(arguments: DocumentationPage.all.filter { $0.blocks.contains { $0.language == "json" } })
  func theJSONOfAPageIsRead(page: DocumentationPage) throws {
    for block in page.blocks where block.language == "json" && block.reasonNotToRun == nil {
      // One value, or one on each line.
      let values = (try? [JSONParser.parse(block.text)]) ?? []
      let lines = block.text.split(separator: "\n").map(String.init).filter { $0 != "…" }
      let parsed = try values.isEmpty ? lines.map { try JSONParser.parse($0) } : values
      for (index, value) in parsed.enumerated() where value["kind"] != nil && value["job"] == nil && value["ok"] == nil
      {
        let text = values.isEmpty ? lines[index] : value.text
        #expect(throws: Never.self, "\(page.path):\(block.line)") { try JobFile.parse(Array(text.utf8)) }
      }
    }
  }

  /// Readers do not see the comment that names a block's file: a sentence before the block has to.
  @Test(arguments: DocumentationPage.all.filter { $0.blocks.contains { $0.file != nil } })
  func aPageNamesItsFiles(page: DocumentationPage) throws {
    let file = DocumentationPage.package.appendingPathComponent(page.path)
    let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
    for block in page.blocks {
      guard let path = block.file else { continue }
      let before = lines[..<(block.line - 1)]
      let prose = before[((before.lastIndex { $0.hasPrefix("```") } ?? -1) + 1)...]
      #expect(prose.contains { $0.contains("\(path)`") }, "\(page.path):\(block.line): name \(path) before it")
    }
  }

  /// SQLite explains each statement on a store as a pool makes it.
  @Test(arguments: DocumentationPage.all.filter { $0.blocks.contains { $0.language == "sql" } })
  func theSQLOfAPageFitsAStore(page: DocumentationPage) throws {
    let items = try ItemPool()
    let pool = try items.start()
    try items.submit("nothing")
    try pool.waitForJobs(1)
    try pool.stop()
    for block in page.blocks where block.language == "sql" && block.reasonNotToRun == nil {
      let text = block.text.replacingOccurrences(of: "--.*", with: "", options: .regularExpression)
      for statement in text.split(separator: ";") where statement.contains(where: \.isLetter) {
        let explained = try sqlite(items.store, "EXPLAIN " + statement.trimmingCharacters(in: .whitespacesAndNewlines))
        #expect(!explained.isEmpty, "\(page.path):\(block.line): \(statement)")
      }
    }
  }

  @Test(arguments: DocumentationPage.all)
  func picturesAreThere(page: DocumentationPage) throws {
    let file = DocumentationPage.package.appendingPathComponent(page.path)
    let text = try String(contentsOf: file, encoding: .utf8)
    for picture in text.matches(of: /!\[[^\]]+\]\(([^)]+)\)/) {
      let name = String(picture.output.1)
      let path = file.deletingLastPathComponent().appendingPathComponent(name.hasSuffix(".png") ? name : name + ".png")
      #expect(FileManager.default.fileExists(atPath: path.path), "\(page.path): \(name)")
    }
  }

  /// The conformance suite of stores runs the sample that readers copy.
  @Test func theStoreOfThePageIsTheOneThatTheTestsRun() throws {
    let page = try #require(DocumentationPage.all.first { $0.path.hasSuffix("/StoreOfYourOwn.md") })
    let sample = DocumentationPage.package.appendingPathComponent("Tests/CoreData/Stores/CardStore.swift")
    #expect(try page.blocks.first?.text == String(contentsOf: sample, encoding: .utf8))
  }

  /// A page whose commands do something else is found: the check of outputs is not empty.
  @Test func outputsAreComparedLineByLine() {
    #expect(PageScript.missing("a 1\n…\nb", in: "a 22\nx\nb\n") == nil)
    #expect(PageScript.missing("a 1\nc", in: "a 22\nb\n") == "c")
    #expect(PageScript.missing("b\na", in: "a\nb\n") == "a")
    #expect(PageScript.missing("x … z", in: "x y z") == nil)
    #expect(PageScript.missing("x … z", in: "x y") == "x … z")
    let page = DocumentationPage(
      path: "p", text: "<!-- file: a.txt -->\n```text\nx\n```\n\n    code\n\n- item\n\n    more\n```sh\nls\n```\n")
    #expect(page.blocks.map(\.file) == ["a.txt", nil] && page.indentedCode == [6])
  }
}
