import CoreData
import Jobs

/// A name that a person typed, and those that the pool knows without its store.
struct AskedName: Equatable, Sendable {
  var what: JobName
  var name: String
  var knownNames: [String] = []
}

extension StoreJobSource {
  func findNames(_ asked: [AskedName], ticket: Int) {
    let context = store.makeContext(name: "names")
    context.perform { [self] in
      let unknown = asked.compactMap { asked in
        do {
          return try JobStore.unknownName(asked.what, asked.name, besides: asked.knownNames, in: context)
        } catch {
          // A name that cannot be found now counts as unknown.
          return UnknownName(asked.what.rawValue, asked.name, among: asked.knownNames)
        }
      }
      report(.foundNames(ticket: ticket, unknown: unknown))
    }
  }
}
