import CoreData

/// One runnable example for each page of the guides on Core Data.
///
///     swift run Examples          what there is
///     swift run Examples 3        runs the third
///     swift run Examples all      runs them all
///
/// An example ends with an error if something differs from its page.
@main struct Examples {
  static let all: [Example] = [
    Example(1, "Queues", queues),
    Example(2, "Thread confinement", threadConfinement),
    Example(3, "Importing in a child", importInAChild),
    Example(4, "The container", container),
    Example(5, "Object IDs across queues", objectIDs),
    Example(6, "Several contexts on one coordinator", severalContexts),
    Example(7, "Merging what others saved", merging),
    Example(8, "Parents and children", parentsAndChildren),
    Example(9, "Saving", saving),
    Example(10, "Asynchronous fetches", asynchronousFetch),
    Example(11, "Finding wrong-queue access", debugging),
    Example(13, "A fetch that takes long", longFetch),
    Example(14, "Object IDs as text", objectIDsAsText),
    Example(15, "Fetched results", fetchedResults),
    Example(16, "Conflicts", conflicts),
    Example(17, "Actors", actors),
    Example(18, "Generations", generations),
    Example(19, "Fetching and writing fast", fast),
    Example(20, "Memory", memory),
    Example(21, "Testing", testing),
    Example(22, "Security", security),
    Example(23, "Errors and surprises", troubleshooting),
  ]

  static func main() async {
    let wanted = CommandLine.arguments.dropFirst().first { !$0.hasPrefix("-") }
    let chosen = all.filter { wanted == "all" || wanted == String($0.number) }
    guard !chosen.isEmpty else {
      for example in all { print("\(example.number)\t\(example.title)") }
      exit(wanted == nil ? 0 : 2)
    }
    for example in chosen {
      print("\(example.number). \(example.title)")
      do {
        let place = try Place()
        defer { place.remove() }
        try await example.run(place)
      } catch {
        print("  \(error)")
        exit(1)
      }
    }
  }
}

struct Example: Sendable {
  let number: Int
  let title: String
  let run: @Sendable @MainActor (Place) async throws -> Void

  init(_ number: Int, _ title: String, _ run: @escaping @Sendable @MainActor (Place) async throws -> Void) {
    self.number = number
    self.title = title
    self.run = run
  }
}
