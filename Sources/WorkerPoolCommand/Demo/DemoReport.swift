import PoolClient
import CoreData
import Documents

/// What the index holds, read through Core Data by this process while the pool is still up.
struct DemoReport {
  let directory: DemoDirectory
  let output: (String) -> Void

  func run() throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try ModelLoader.load(directory.model))
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: URL(fileURLWithPath: directory.store),
      options: [NSReadOnlyPersistentStoreOption: true])
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      let start = Date()
      let documents = try documents(context)
      let words = try words(context)
      let seconds = String(format: "%.2f", Date().timeIntervalSince(start))
      output("\nReport, by a fetch of \(documents.count + words.occurrences) objects in \(seconds) s:\n\n")
      var totals = TextTable([.number("documents"), .number("lines"), .number("words"), .number("terms")])
      totals.add([
        String(documents.count), String(documents.lines), String(documents.words), String(words.counts.count),
      ])
      print(totals)
      var longest = TextTable([.text("longest documents"), .number("lines"), .number("words")])
      for document in documents.longest {
        longest.add([document.name, String(document.lines), String(document.words)])
      }
      print(longest)
      var frequent = TextTable([.text("most frequent words"), .number("times"), .number("documents")])
      for (text, count) in try words.top(10, context) {
        frequent.add([text, String(count.times), String(count.documents)])
      }
      print(frequent)
    }
  }

  private func print(_ table: TextTable) {
    for line in table.lines() { output("  \(line)\n") }
    output("\n")
  }

  private struct Documents {
    var count = 0
    var lines = 0
    var words = 0
    var longest: [(name: String, lines: Int, words: Int)] = []
  }

  private func documents(_ context: NSManagedObjectContext) throws -> Documents {
    let request = Document.fetchRequest()
    request.sortDescriptors = [
      NSSortDescriptor(keyPath: \Document.words, ascending: false),
      NSSortDescriptor(keyPath: \Document.path, ascending: true),
    ]
    var documents = Documents()
    for document in try context.fetch(request) {
      documents.count += 1
      documents.lines += Int(document.lines)
      documents.words += Int(document.words)
      if documents.longest.count < 5 {
        documents.longest.append((document.name ?? "", Int(document.lines), Int(document.words)))
      }
    }
    return documents
  }

  private struct Words {
    var occurrences = 0
    var counts: [NSManagedObjectID: (times: Int, documents: Int)] = [:]

    func top(
      _ number: Int, _ context: NSManagedObjectContext
    ) throws -> [(String, (times: Int, documents: Int))] {
      let best = counts.sorted { $0.value.times > $1.value.times }.prefix(number)
      return try best.map { objectID, count in
        ((try context.existingObject(with: objectID) as? Term)?.text ?? "", count)
      }
    }
  }

  private func words(_ context: NSManagedObjectContext) throws -> Words {
    let request = Occurrence.fetchRequest()
    request.fetchBatchSize = 1000
    request.returnsObjectsAsFaults = false
    var words = Words()
    for occurrence in try context.fetch(request) {
      guard let term = occurrence.term else { continue }
      words.occurrences += 1
      words.counts[term.objectID, default: (0, 0)].times += Int(occurrence.count)
      words.counts[term.objectID, default: (0, 0)].documents += 1
    }
    return words
  }
}
