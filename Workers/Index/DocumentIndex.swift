import CoreData

/// Writes what is in a text file into the entities Document, Term and Occurrence of the store's model.
///
///     Document  path, name, lines, words, size, modifiedAt, indexedAt; occurrences
///     Term      text
///     Occurrence  count, firstLine; document, term
struct DocumentIndex {
  let context: NSManagedObjectContext

  /// Words that are looked up with one fetch.
  private static let wordsPerFetch = 500

  /// Indexes one file. A document that is indexed and whose file has not changed since stays as it is.
  ///
  /// - Parameter document: the object to fill; nil finds it by its path or inserts it.
  /// - Returns: the document.
  @discardableResult
  func index(path: String, document: NSManagedObject? = nil) throws -> NSManagedObject {
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    let modified = attributes[.modificationDate] as? Date
    let size = (attributes[.size] as? NSNumber)?.int64Value ?? 0
    let document = try document ?? find("Document", "path", [path])[path] ?? insert("Document", "path", path)
    if document.value(forKey: "indexedAt") != nil, document.value(forKey: "modifiedAt") as? Date == modified,
      (document.value(forKey: "size") as? NSNumber)?.int64Value == size
    {
      return document
    }
    let file = try TextFile(path: path)
    for occurrence in try occurrences(of: document) { context.delete(occurrence) }
    try insertOccurrences(file, document)
    document.setValue(URL(fileURLWithPath: path).lastPathComponent, forKey: "name")
    document.setValue(NSNumber(value: file.lines), forKey: "lines")
    document.setValue(NSNumber(value: file.wordCount), forKey: "words")
    document.setValue(NSNumber(value: size), forKey: "size")
    document.setValue(modified, forKey: "modifiedAt")
    document.setValue(Date(), forKey: "indexedAt")
    return document
  }

  private func occurrences(of document: NSManagedObject) throws -> [NSManagedObject] {
    guard !document.objectID.isTemporaryID else { return [] }
    let request = NSFetchRequest<NSManagedObject>(entityName: "Occurrence")
    request.predicate = NSPredicate(format: "document == %@", document)
    return try context.fetch(request)
  }

  private func insertOccurrences(_ file: TextFile, _ document: NSManagedObject) throws {
    let words = file.words.keys.sorted()
    var terms: [String: NSManagedObject] = [:]
    for start in stride(from: 0, to: words.count, by: Self.wordsPerFetch) {
      let part = Array(words[start..<min(start + Self.wordsPerFetch, words.count)])
      terms.merge(try find("Term", "text", part)) { first, _ in first }
    }
    for word in words {
      guard let found = file.words[word] else { continue }
      let occurrence = NSEntityDescription.insertNewObject(forEntityName: "Occurrence", into: context)
      occurrence.setValue(NSNumber(value: found.count), forKey: "count")
      occurrence.setValue(NSNumber(value: found.firstLine), forKey: "firstLine")
      occurrence.setValue(document, forKey: "document")
      occurrence.setValue(terms[word] ?? insert("Term", "text", word), forKey: "term")
    }
  }

  private func find(_ entity: String, _ attribute: String, _ values: [String]) throws -> [String: NSManagedObject] {
    let request = NSFetchRequest<NSManagedObject>(entityName: entity)
    request.predicate = NSPredicate(format: "%K IN %@", attribute, values)
    request.returnsObjectsAsFaults = false
    var found: [String: NSManagedObject] = [:]
    for object in try context.fetch(request) {
      if let value = object.value(forKey: attribute) as? String { found[value] = object }
    }
    return found
  }

  private func insert(_ entity: String, _ attribute: String, _ value: String) -> NSManagedObject {
    let object = NSEntityDescription.insertNewObject(forEntityName: entity, into: context)
    object.setValue(value, forKey: attribute)
    return object
  }
}
