extension Bundle {
  /// All bundles in which a program may have resources, those of its own package before others'.
  static var ofProgram: [Bundle] {
    let beside = ProgramBundles.beside(main)
    return [main] + allBundles + beside.own + beside.others
  }
}

/// The resource bundles that SwiftPM puts beside an executable: those of all packages that were built with it.
///
/// SwiftPM names them `PACKAGE_TARGET.resources`, and the program of a package's tests `PACKAGEPackageTests.xctest`.
enum ProgramBundles {
  /// The bundles of the program's own package, and the others.
  static func beside(_ main: Bundle) -> (own: [Bundle], others: [Bundle]) {
    beside(main.executableURL?.lastPathComponent ?? "", in: main.bundleURL)
  }

  static func beside(_ program: String, in folder: URL) -> (own: [Bundle], others: [Bundle]) {
    // A folder that cannot be listed has no bundles to offer.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    let sorted = split(names.sorted(), program: program)
    func bundles(_ names: [String]) -> [Bundle] {
      names.compactMap { Bundle(path: folder.appendingPathComponent($0).path) }
    }
    return (bundles(sorted.own), bundles(sorted.others))
  }

  /// Splits the names of bundles. If the program's package is unknown, all may be its own.
  static func split(_ names: [String], program: String) -> (own: [String], others: [String]) {
    let bundles = names.filter { $0.hasSuffix(".resources") || $0.hasSuffix(".bundle") }
    let name = String(program.prefix { $0 != "." })
    let package = packageOfTarget(name, in: bundles) ?? packageOfTests(name) ?? name
    let packageBundles = bundles.filter { $0.lowercased().hasPrefix(package.lowercased() + "_") }
    return packageBundles.isEmpty ? (bundles, []) : (packageBundles, bundles.filter { !packageBundles.contains($0) })
  }

  /// The package whose target of the name has a bundle.
  private static func packageOfTarget(_ name: String, in bundles: [String]) -> String? {
    for bundle in bundles {
      let words = bundle.prefix { $0 != "." }.components(separatedBy: "_")
      if words.count > 1, words.last == name { return words.dropLast().joined(separator: "_") }
    }
    return nil
  }

  private static func packageOfTests(_ program: String) -> String? {
    let ending = "PackageTests"
    return program.hasSuffix(ending) ? String(program.dropLast(ending.count)) : nil
  }
}
