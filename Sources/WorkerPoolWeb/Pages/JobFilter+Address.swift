import PoolClient

/// Which jobs a page lists, or a change concerns, as it stands in the page's address.
extension JobFilter {
  init(_ parameters: Parameters) {
    self.init()
    stateName = parameters["state"]
    kind = parameters["kind"]
    queue = parameters["queue"]
    batch = parameters["batch"]
    error = parameters["error"]
    wait = parameters["waits-for"].flatMap(JobWait.init)
    search = parameters["search"]
    predicate = parameters["where"]
  }

  /// Its parts by their names in addresses and forms.
  var parameters: [(String, String?)] {
    [
      ("state", stateName), ("kind", kind), ("queue", queue), ("batch", batch), ("error", error),
      ("waits-for", wait?.rawValue),
      ("search", search), ("where", predicate),
    ]
  }

  func address(before: Int64? = nil) -> Address {
    Address(path: ["jobs"], query: parameters + [("before", before.map(String.init))])
  }
}
