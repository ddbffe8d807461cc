import TestFiles
import Testing

@testable import CoreData

/// What each kind of store says of a fetch.
@Suite struct ExplainedStoresTests {
  @Test(arguments: StoreKind.allCases)
  func aFetchIsExplainedWhereADatabaseEvaluatesIt(kind: StoreKind) throws {
    let subject = try StoreSubject(kind)
    _ = try subject.insert("Book", [["title": "Emma", "pages": 474], ["title": "Persuasion", "pages": 249]])
    let context = subject.coordinator.context()
    try context.performAndWait {
      for type in [NSFetchRequestResultType.managedObjectResultType, .dictionaryResultType, .countResultType] {
        let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Book")
        request.predicate = NSPredicate(format: "pages > 300 AND title BEGINSWITH 'E'")
        request.sortDescriptors = [NSSortDescriptor(key: "pages", ascending: true)]
        request.resultType = type
        let explanation = try context.explain(request)
        #expect(explanation.resultCount == 1)
        let isEvaluatedBySQL = kind == .file || kind == .server
        #expect(explanation.statements.count == (isEvaluatedBySQL ? 1 : 0), "\(type)")
        for statement in explanation.statements {
          // As a word: the name of a server's schema has digits and letters by chance.
          let hasValue = statement.sql.split { !$0.isLetter && !$0.isNumber }.contains("300")
          #expect(statement.sql.lowercased().contains("book") && !hasValue, "\(statement.sql)")
          #expect(!statement.plan.isEmpty && statement.plan.allSatisfy { !$0.isEmpty })
          #expect(statement.storeURL == subject.coordinator.persistentStores[0].url)
        }
      }
    }
  }
}
