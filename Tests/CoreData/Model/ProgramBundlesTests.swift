import Testing

@testable import CoreData

@Suite("Resource bundles beside a program") struct ProgramBundlesTests {
  private let names = ["Other_Models.resources", "Shop_Shop.resources", "Shop_ShopModel.resources", "shop", "x.txt"]

  @Test(
    "Those of the program's own package come before another package's",
    arguments: ["Shop", "shop", "ShopPackageTests.xctest", "ShopModel"])
  func own(program: String) {
    let (own, others) = ProgramBundles.split(names, program: program)
    #expect(own == ["Shop_Shop.resources", "Shop_ShopModel.resources"] && others == ["Other_Models.resources"])
  }

  @Test("All may be the program's if its package is unknown")
  func unknown() {
    let (own, others) = ProgramBundles.split(names, program: "worker")
    #expect(own.count == 3 && others.isEmpty)
  }
}
