/// Values by key in pages of 256, found without hashing and ordered by key.
///
/// It is a value. The first change after a copy copies the list of pages and the changed page, so keeping a state of a
/// large table is cheap. Meant for keys that are mostly consecutive.
///
/// ```text
/// key 1000    page 3 (1000 >> 8), place 232 (1000 & 255)
///
/// pages   [ 256 | 256 | nothing yet | 256 ]        three pages with rows, keys 0-511 and 768-1023
///
/// copy, then change the key 1000 in the copy:
///         the list of pages is copied (8 bytes for each), page 3 is copied (256 elements); the others are shared
/// ```
///
/// A dictionary would be copied as a whole with its first change after a copy, so each save of one row would cost all
/// rows.
struct PagedTable<Element> {
  /// The pages. An empty one has no row yet.
  private var pages: [[Element?]] = []
  private(set) var count = 0

  subscript(key: Int64) -> Element? {
    let page = Int(truncatingIfNeeded: key >> 8)
    guard key >= 0, page < pages.count, !pages[page].isEmpty else { return nil }
    return pages[page][Int(key & 255)]
  }

  /// Changes the value of a key in place.
  ///
  /// - Precondition: the key is not negative.
  mutating func update(_ key: Int64, _ body: (inout Element?) -> Void) {
    let (page, place) = (Int(truncatingIfNeeded: key >> 8), Int(key & 255))
    while pages.count <= page { pages.append([]) }
    if pages[page].isEmpty { pages[page] = Array(repeating: nil, count: 256) }
    let before = pages[page][place] != nil
    body(&pages[page][place])
    count += (pages[page][place] != nil ? 1 : 0) - (before ? 1 : 0)
  }

  /// Gives the body each key and value in key order, until it returns false.
  func forEach(_ body: (Int64, Element) throws -> Bool) rethrows {
    for (page, elements) in pages.enumerated() where !elements.isEmpty {
      for (place, element) in elements.enumerated() {
        guard let element else { continue }
        if try !body(Int64(page << 8 | place), element) { return }
      }
    }
  }
}
