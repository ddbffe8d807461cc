import Jobs

/// Names in the store that equal or resemble those that a person typed.
struct KnownNames: Equatable, Sendable {
  var queues: [String] = []
  var batches: [String] = []
}

extension StoreJobSource {
  func findNames(queue: String?, batch: String?, kinds: [String], ticket: Int) {
    let context = store.makeContext(name: "names")
    context.perform { [self] in
      var names = KnownNames()
      // Names that cannot be read count as unknown.
      if let queue { names.queues = (try? store.queueNames(near: queue, kinds: kinds, in: context)) ?? [] }
      if let batch { names.batches = (try? store.batchNames(near: batch, in: context)) ?? [] }
      report(.foundNames(ticket: ticket, names))
    }
  }
}
