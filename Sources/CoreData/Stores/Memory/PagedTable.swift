/// Values by key, in pages of 256: found without hashing, in the order of the keys.
///
/// A value. The first change after a copy copies the list of pages and the one page that changes, so that a state of a large table
/// is cheap to keep. Meant for keys that mostly follow each other.
struct PagedTable<Element> {
  /// An empty page has no row yet.
  private var pages: [[Element?]] = []
  private(set) var count = 0

  subscript(key: Int64) -> Element? {
    let page = Int(truncatingIfNeeded: key >> 8)
    guard key >= 0, page < pages.count, !pages[page].isEmpty else { return nil }
    return pages[page][Int(key & 255)]
  }

  /// Changes the value of a key in its place.
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

  /// Gives the body each key and value in the order of the keys, until it returns false.
  func forEach(_ body: (Int64, Element) throws -> Bool) rethrows {
    for (page, elements) in pages.enumerated() where !elements.isEmpty {
      for (place, element) in elements.enumerated() {
        guard let element else { continue }
        if try !body(Int64(page << 8 | place), element) { return }
      }
    }
  }
}
