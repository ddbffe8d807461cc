import Testing

@testable import CoreData

@Suite struct OverriddenMethodsTests {
  private class Plain: NSManagedObject {
    var own = 0
    override func willSave() { own += 1 }
  }

  private class Validating: Plain {
    override func validateValue(_ value: inout Any?, forKey key: String) throws {
      own += 1
    }
  }

  private final class Inheriting: Validating {}

  @Test func onlyClassesThatLookAtValuesThemselvesAreSaidTo() {
    #expect(!OverriddenMethods.validatesValues(NSManagedObject.self))
    #expect(!OverriddenMethods.validatesValues(Plain.self))
    #expect(!OverriddenMethods.validatesValues(RecordingBook.self))
    #expect(OverriddenMethods.validatesValues(Validating.self))
    #expect(OverriddenMethods.validatesValues(Inheriting.self))
    #expect(OverriddenMethods.validatesValues(CheckedBook.self))
  }
}
