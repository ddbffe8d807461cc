extension Bundle {
  /// All bundles in which a program may have resources, those of its own package before others'.
  ///
  /// Models and mapping models are searched in this order. Each access makes the list anew, since bundles may be loaded
  /// later.
  static var ofProgram: [Bundle] {
    let beside = ProgramBundles.beside(main)
    return [main] + allBundles + beside.own + beside.others
  }
}

/// The resource bundles that SwiftPM puts beside an executable: those of all packages that were built with it.
///
/// SwiftPM names them `PACKAGE_TARGET.resources`, and the program of a package's tests `PACKAGEPackageTests.xctest`.
///
/// On a Mac resources lie in the app's bundle. SwiftPM on Linux makes a bundle for each target with resources and puts
/// it beside the executable, where `Bundle.main` does not look. A build folder has the bundles of all packages, so
/// those of a dependency, or of another program of the same build, must not be taken for the program's own.
///
/// ```text
/// .build/debug/
///   library                               the executable
///   Library_library.resources             own: package Library, target library
///   Library_LibraryModel.resources        own: the same package
///   WorkerPool_CoreDataTests.resources    other
/// ```
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
  ///
  /// The package is found by the bundle of the target that has the executable's name, else by the name of a test
  /// program, else by the executable's own name. Names are compared without regard to case, as packages and products
  /// often differ in it.
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

  /// "LibraryPackageTests" is the test program of the package Library.
  private static func packageOfTests(_ program: String) -> String? {
    let ending = "PackageTests"
    return program.hasSuffix(ending) ? String(program.dropLast(ending.count)) : nil
  }
}
