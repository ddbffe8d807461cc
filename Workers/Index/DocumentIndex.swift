import Documents
import WorkerKit

/// Writes the words of a text file into the entities Document, Term and Occurrence of the store's model.
struct DocumentIndex {
  let context: NSManagedObjectContext

  /// Words that are looked up with one fetch.
  private static let wordsPerFetch = 500

  /// Indexes one file. A document that is indexed and whose file has not changed since stays as it is.
  ///
  /// - Parameter document: the object to fill; nil finds it by its path or inserts it.
  /// - Returns: the document.
  @discardableResult
  func index(path: String, document: Document? = nil) throws -> Document {
    let input = try InputFile(path)
    let (modified, size) = (input.modified, input.size)
    let document = try document ?? self.document(path)
    if document.indexedAt != nil, document.modifiedAt == modified, document.size == size { return document }
    let file = try TextFile(input, path: path)
    for occurrence in try occurrences(of: document) { context.delete(occurrence) }
    try insertOccurrences(file, document)
    document.name = URL(fileURLWithPath: path).lastPathComponent
    document.lines = Int64(file.lines)
    document.words = Int64(file.wordCount)
    document.size = size
    document.modifiedAt = modified
    document.indexedAt = Date()
    return document
  }

  /// The document of a path, a new one if there is none.
  private func document(_ path: String) throws -> Document {
    let request = Document.fetchRequest()
    request.predicate = NSPredicate(format: "path == %@", path)
    if let document = try context.fetch(request).first { return document }
    let document = Document(context: context)
    document.path = path
    return document
  }

  private func occurrences(of document: Document) throws -> [Occurrence] {
    guard !document.objectID.isTemporaryID else { return [] }
    let request = Occurrence.fetchRequest()
    request.predicate = NSPredicate(format: "document == %@", document)
    return try context.fetch(request)
  }

  private func insertOccurrences(_ file: TextFile, _ document: Document) throws {
    let words = file.words.keys.sorted()
    var terms: [String: Term] = [:]
    for start in stride(from: 0, to: words.count, by: Self.wordsPerFetch) {
      let part = Array(words[start..<min(start + Self.wordsPerFetch, words.count)])
      terms.merge(try self.terms(part)) { first, _ in first }
    }
    for word in words {
      guard let uses = file.words[word] else { continue }
      let occurrence = Occurrence(context: context)
      occurrence.count = Int64(uses.count)
      occurrence.firstLine = Int64(uses.firstLine)
      occurrence.document = document
      occurrence.term = terms[word] ?? term(word)
    }
  }

  /// The terms that are there already, by their text.
  private func terms(_ words: [String]) throws -> [String: Term] {
    let request = Term.fetchRequest()
    request.predicate = NSPredicate(format: "text IN %@", words)
    request.returnsObjectsAsFaults = false
    var termsByText: [String: Term] = [:]
    for term in try context.fetch(request) {
      if let text = term.text { termsByText[text] = term }
    }
    return termsByText
  }

  private func term(_ word: String) -> Term {
    let term = Term(context: context)
    term.text = word
    return term
  }
}
