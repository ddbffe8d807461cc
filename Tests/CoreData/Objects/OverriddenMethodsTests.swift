import Testing

@testable import CoreData

@Suite struct OverriddenMethodsTests {
  private class Plain: NSManagedObject {
    var own = 0
    override func awakeFromInsert() { own += 1 }
  }

  private class Validating: Plain {
    override func validateValue(_ value: inout Any?, forKey key: String) throws {
      own += 1
    }
  }

  private final class Inheriting: Validating {}

  private class Preparing: Plain {
    override func willSave() { own += 1 }
  }

  private final class Deleting: Preparing {
    override func validateForDelete() throws { own += 1 }
  }

  private func overridden(_ type: NSManagedObject.Type) -> [OverriddenMethods.Method] {
    OverriddenMethods.Method.allCases.filter { OverriddenMethods.overrides($0, type) }
  }

  @Test func eachMethodIsSaidToBeOverriddenByTheClassesThatDo() {
    #expect(overridden(NSManagedObject.self) == [])
    #expect(overridden(Plain.self) == [])
    #expect(overridden(Validating.self) == [.validateValue])
    #expect(overridden(Inheriting.self) == [.validateValue])
    #expect(overridden(CheckedBook.self).contains(.validateValue))
    #expect(overridden(Preparing.self) == [.willSave])
    #expect(overridden(Deleting.self) == [.willSave, .validateForDelete])
    #expect(
      overridden(RecordingBook.self) == [
        .awakeFromFetch, .willSave, .didSave, .validateForInsert, .validateForUpdate, .validateForDelete,
      ])
  }

  @Test func aSaveAsksOnlyClassesAndModelsThatHaveSomethingToSay() throws {
    let tag = LibraryModel.make().entitiesByName["Tag"]
    let book = LibraryModel.makeWithClasses().entitiesByName["Book"]
    #expect(tag?.layout.saveHooks == [])
    // Titles are mandatory, so books are validated.
    #expect(LibraryModel.make().entitiesByName["Book"]?.layout.saveHooks == [.validateForInsert, .validateForUpdate])
    #expect(
      book?.layout.saveHooks == [
        .willSave, .didSave, .validateForInsert, .validateForUpdate, .validateForDelete,
      ])
  }
}
