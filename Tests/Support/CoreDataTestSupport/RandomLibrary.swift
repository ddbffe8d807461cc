import CoreData

/// The content of a library in plain values, with which contexts are compared.
package struct PlainLibrary: Equatable {
  package struct Book: Equatable {
    package var pages = 0
    package var author: String?
    package var tags: Set<String> = []
  }

  package var books: [String: Book] = [:]
  /// The authors, each with its passport.
  package var authors: [String: String?] = [:]
  /// The tags, each with the tags that it orders.
  package var tags: [String: [String]] = [:]
  package var passports: Set<String> = []

  package init() {}

  package mutating func deleteAuthor(_ name: String) {
    authors[name] = nil
    books = books.filter { $0.value.author != name }
  }

  package mutating func deleteTag(_ label: String) {
    tags[label] = nil
    for title in books.keys { books[title]?.tags.remove(label) }
    for other in tags.keys { tags[other]?.removeAll { $0 == label } }
  }

  package mutating func deletePassport(_ number: String) {
    passports.remove(number)
    for (name, passport) in authors where passport == number { authors[name] = .some(nil) }
  }

  package mutating func setPassport(_ number: String?, of name: String) {
    for (other, passport) in authors where passport == number && number != nil { authors[other] = .some(nil) }
    authors[name] = .some(number)
  }
}

extension NSManagedObjectContext {
  /// The content that the context shows. Throws if it contradicts itself: an object twice, or two ends that disagree.
  package func plainLibrary() throws -> PlainLibrary {
    var library = PlainLibrary()
    func check(_ isRight: Bool, _ object: NSManagedObject, _ what: String) throws {
      if !isRight { throw RandomSteps.Contradiction(text: "\(what): \(object)") }
    }
    for book in try all("Book") {
      let title = book.text("title") ?? ""
      try check(library.books[title] == nil, book, "twice")
      let author = book.object("author")
      if let author { try check(author.members("books").contains(book), book, "not among its author's books") }
      let tags = book.members("tags")
      try check(tags.allSatisfy { $0.members("books").contains(book) }, book, "not among its tags' books")
      library.books[title] = PlainLibrary.Book(
        pages: book.value(forKey: "pages") as? Int ?? -1, author: author?.text("name"),
        tags: Set(tags.compactMap { $0.text("label") }))
    }
    for author in try all("Author") {
      let name = author.text("name") ?? ""
      try check(library.authors[name] == nil, author, "twice")
      try check(author.members("books").allSatisfy { $0.object("author") === author }, author, "has another's books")
      let passport = author.object("passport")
      if let passport { try check(passport.object("holder") === author, author, "not its passport's holder") }
      library.authors[name] = .some(passport?.text("number"))
    }
    for tag in try all("Tag") {
      let label = tag.text("label") ?? ""
      try check(library.tags[label] == nil, tag, "twice")
      try check(tag.members("books").allSatisfy { $0.members("tags").contains(tag) }, tag, "not among its books' tags")
      let ordered = (tag.value(forKey: "ordered") as? NSOrderedSet)?.array as? [NSManagedObject] ?? []
      try check(ordered.allSatisfy { $0.members("orderedBy").contains(tag) }, tag, "does not order what it orders")
      library.tags[label] = ordered.compactMap { $0.text("label") }
    }
    for passport in try all("Passport") {
      try check(library.passports.insert(passport.text("number") ?? "").inserted, passport, "twice")
      if let holder = passport.object("holder") {
        try check(holder.object("passport") === passport, passport, "not its holder's passport")
      }
    }
    return library
  }

  /// Makes one random change in the context and in the plain library.
  package func changeAtRandom(_ library: inout PlainLibrary, _ random: inout RandomSteps) throws {
    func object(_ entity: String, _ key: String, _ value: String) throws -> NSManagedObject {
      let matches = try all(entity, where: "\(key) == '\(value)'")
      guard matches.count == 1 else { throw RandomSteps.Failure(count: matches.count, entity: entity, value: value) }
      return matches[0]
    }
    let book = random.pick(library.books.keys.sorted())
    let author = random.pick(library.authors.keys.sorted())
    let tag = random.pick(library.tags.keys.sorted())
    let passport = random.pick(library.passports.sorted())
    switch random.next(16) {
    case 0, 1:
      let title = random.name()
      make(random.next(3) == 0 ? "Comic" : "Book", ["title": title, "pages": 0])
      library.books[title] = PlainLibrary.Book()
    case 2:
      let name = random.name()
      make("Author", ["name": name])
      library.authors[name] = .some(nil)
    case 3:
      let label = random.name()
      make("Tag", ["label": label])
      library.tags[label] = []
    case 4:
      let number = random.name()
      make("Passport", ["number": number])
      library.passports.insert(number)
    case 5, 6:
      guard let book else { return }
      try object("Book", "title", book).setValue(
        try author.map { try object("Author", "name", $0) }, forKey: "author")
      library.books[book]?.author = author
    case 7:
      guard let book, let author else { return }
      try object("Author", "name", author).addObject(try object("Book", "title", book), toRelationship: "books")
      library.books[book]?.author = author
    case 8, 9:
      guard let book, let tag else { return }
      if random.next(2) == 0 {
        try object("Book", "title", book).addObject(try object("Tag", "label", tag), toRelationship: "tags")
        library.books[book]?.tags.insert(tag)
      } else {
        try object("Tag", "label", tag).removeObject(try object("Book", "title", book), fromRelationship: "books")
        library.books[book]?.tags.remove(tag)
      }
    case 10:
      guard let book else { return }
      let pages = random.next(1000)
      try object("Book", "title", book).setValue(pages, forKey: "pages")
      library.books[book]?.pages = pages
    case 11:
      guard let author else { return }
      let passport = random.next(3) == 0 ? nil : passport
      try object("Author", "name", author).setValue(
        try passport.map { try object("Passport", "number", $0) }, forKey: "passport")
      library.setPassport(passport, of: author)
    case 12:
      guard let tag else { return }
      let members = random.shuffled(library.tags.keys.sorted()).prefix(random.next(4))
      try object("Tag", "label", tag).setValue(
        NSOrderedSet(array: try members.map { try object("Tag", "label", $0) }), forKey: "ordered")
      library.tags[tag] = Array(members)
    case 13:
      guard let book else { return }
      delete(try object("Book", "title", book))
      library.books[book] = nil
    case 14:
      if random.next(2) == 0, let author {
        delete(try object("Author", "name", author))
        library.deleteAuthor(author)
      } else if let tag {
        delete(try object("Tag", "label", tag))
        library.deleteTag(tag)
      }
    default:
      guard let passport else { return }
      delete(try object("Passport", "number", passport))
      library.deletePassport(passport)
    }
    processPendingChanges()
  }
}

/// Random numbers that are the same for the same seed.
package struct RandomSteps {
  package struct Contradiction: Error { let text: String }

  package struct Failure: Error {
    package let count: Int
    package let entity: String
    package let value: String
  }

  private var state: UInt64
  private var names = 0

  package init(seed: Int) { state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1 }

  package mutating func next(_ bound: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int((state >> 33) % UInt64(bound))
  }

  package mutating func pick<T>(_ items: [T]) -> T? { items.isEmpty ? nil : items[next(items.count)] }

  package mutating func shuffled<T>(_ items: [T]) -> [T] {
    var items = items
    for index in items.indices.reversed() { items.swapAt(index, next(index + 1)) }
    return items
  }

  /// A name that no object has had.
  package mutating func name() -> String {
    names += 1
    return "n\(names)"
  }
}
