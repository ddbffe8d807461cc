import TestFiles
import Testing

@testable import CoreData

@Suite("Resource bundles beside a program") struct ProgramBundlesTests {
  private let names = ["Other_Models.resources", "Shop_Shop.resources", "Shop_ShopModel.resources", "shop", "x.txt"]

  @Test(
    "Those of the program's own package come before another package's",
    arguments: ["Shop", "shop", "ShopPackageTests.xctest", "ShopModel"])
  func own(program: String) {
    let (packageBundles, others) = ProgramBundles.split(names, program: program)
    #expect(
      packageBundles == ["Shop_Shop.resources", "Shop_ShopModel.resources"] && others == ["Other_Models.resources"])
  }

  @Test("All may be the program's if its package is unknown")
  func unknown() {
    let (packageBundles, others) = ProgramBundles.split(names, program: "worker")
    #expect(packageBundles.count == 3 && others.isEmpty)
  }

  @Test("The models of the program's own package are found, and another package's only where it has none")
  func models() throws {
    let folder = temporaryURL("program")
    defer { try? FileManager.default.removeItem(at: folder) }
    func add(_ bundle: String, entity: String) throws {
      let model = folder.appendingPathComponent("\(bundle)/Model.xcdatamodel")
      try FileManager.default.createDirectory(at: model, withIntermediateDirectories: true)
      try Data("<model><entity name=\"\(entity)\"/></model>".utf8).write(to: model.appendingPathComponent("contents"))
    }
    func found(_ program: String, exceptOthers: Bool = false) -> [String?] {
      NSManagedObjectModel.models(beside: ProgramBundles.beside(program, in: folder), exceptOthers: exceptOthers)
        .flatMap(\.entities).map(\.name)
    }
    try add("Other_Models.resources", entity: "Stranger")
    try add("Shop_ShopModel.resources", entity: "Item")
    #expect(found("shop") == ["Item"] && found("ShopModel") == ["Item"])
    try FileManager.default.createDirectory(
      at: folder.appendingPathComponent("Bare_Pictures.resources"), withIntermediateDirectories: true)
    #expect(found("bare") == ["Stranger", "Item"] && found("bare", exceptOthers: true) == [])
  }

  /// This program is one of a package with models among its resources.
  @Test("Without a list of bundles, and with the main bundle, a program's own models are found", arguments: [nil, 1])
  func own(count: Int?) throws {
    let file = Bundle.main.bundleURL.appendingPathComponent("workerpool_FarmModel.resources/Farm.momd")
    let farm = try #require(NSManagedObjectModel(contentsOf: file))
    let bundles = count.map { _ in [Bundle.main] }
    let metadata = [NSStoreModelVersionHashesKey: farm.entityVersionHashesByName]
    #expect(NSManagedObjectModel.mergedModel(from: bundles, forStoreMetadata: metadata) == farm)
  }
}
