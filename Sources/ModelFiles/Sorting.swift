// The standard library's sort is compiled anew for each type of element and each closure, some 4 KB of code each time.
// These sort texts and numbers, in code that is compiled once. For lists that are short or sorted rarely.

extension Sequence<String> {
  package func sorted() -> [String] {
    let texts = Array(self)
    return order(of: texts).map { texts[$0] }
  }
}

extension Sequence {
  /// Sorted by a text of each element. Elements with equal texts keep their order.
  package func sorted(on text: (Element) -> String) -> [Element] {
    let elements = Array(self)
    return order(of: elements.map(text)).map { elements[$0] }
  }

  /// Sorted by the UTF-8 bytes of a text of each element. Elements with equal texts keep their order.
  package func sorted(onBytes text: (Element) -> String) -> [Element] {
    let elements = Array(self)
    return byteOrder(of: elements.map(text)).map { elements[$0] }
  }

  /// Sorted by a number of each element. Elements with equal numbers keep their order.
  package func sorted(on number: (Element) -> Int) -> [Element] {
    let elements = Array(self)
    return order(of: elements.map(number)).map { elements[$0] }
  }
}

private func order(of texts: [String]) -> [Int] {
  texts.indices.sorted { texts[$0] == texts[$1] ? $0 < $1 : texts[$0] < texts[$1] }
}

private func byteOrder(of texts: [String]) -> [Int] {
  texts.indices.sorted { first, second in
    if texts[first].precedesByBytes(texts[second]) { return true }
    return first < second && !texts[second].precedesByBytes(texts[first])
  }
}

private func order(of numbers: [Int]) -> [Int] {
  numbers.indices.sorted { (numbers[$0], $0) < (numbers[$1], $1) }
}
