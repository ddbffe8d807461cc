/// The permanent keys of a save's new rows, by temporary key.
///
/// Only rows that refer to new rows ask for them, so a table is made at the first question. A save's temporary keys
/// mostly follow each other: then the table is an array. A new row that refers to another new one costs 187
/// instructions here, with a dictionary 914, of about 12,000 for saving it.
///
/// Used by one thread at a time, like the save that it belongs to.
///
/// ```text
/// temporary  -1, -2, -3, -5        first = -5, array = [key for -5, gap, key for -3, key for -2, key for -1]
/// temporary  -1, -90000            mostly gaps: a dictionary
/// ```
package final class AssignedKeys {
  package typealias Pair = (temporary: Int64, permanent: RelatedKey)

  private var pairs: [Pair] = []
  /// The number of pairs in the table.
  private var tabled = 0
  /// The permanent keys from the temporary key `first` on; a key of 0 marks a gap.
  private var array: [RelatedKey] = []
  private var first: Int64 = 0
  /// The permanent keys, if the array would be mostly gaps.
  private var dictionary: [Int64: RelatedKey] = [:]

  package func add(_ more: [Pair]) {
    if pairs.isEmpty { pairs = more } else { pairs += more }
  }

  package subscript(temporary: Int64) -> RelatedKey? {
    get {
      if tabled < pairs.count { makeTable() }
      if array.isEmpty { return dictionary[temporary] }
      let place = temporary &- first
      guard place >= 0, place < array.count, array[Int(place)].key != 0 else { return nil }
      return array[Int(place)]
    }
    set {
      guard let newValue else { return }
      pairs.append((temporary, newValue))
    }
  }

  /// The array is used while at most three of four places are gaps: a save's new objects mostly got their temporary IDs
  /// one after the other.
  private func makeTable() {
    tabled = pairs.count
    array = []
    dictionary = [:]
    var (least, most) = (Int64.max, Int64.min)
    for pair in pairs {
      least = min(least, pair.temporary)
      most = max(most, pair.temporary)
    }
    guard most - least < Int64(pairs.count) * 4 else {
      for pair in pairs { dictionary[pair.temporary] = pair.permanent }
      return
    }
    first = least
    array = Array(repeating: RelatedKey(key: 0, number: 0), count: Int(most - least) + 1)
    for pair in pairs { array[Int(pair.temporary - least)] = pair.permanent }
  }
}
