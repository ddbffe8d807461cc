import Dispatch
import Synchronization

/// The queues on which pages are made. A page that takes long delays only pages of its sort, and no other one while a
/// queue of that sort is free.
final class SiteLanes: Sendable {
  /// What a request may have to wait for.
  enum Sort: Int, CaseIterable {
    /// What the pool has told, and jobs that indexes find.
    case plain
    /// The overview, which counts the jobs of a period.
    case overview
    /// What people search for: their conditions may look at each job.
    case search
    /// The pool, which does what a form asks for.
    case change

    init(_ request: HTTPRequest) {
      let fields = request.method == "POST" ? request.form : request.query
      if ["where", "search", "error"].contains(where: { fields[$0] != nil }) {
        self = .search
      } else if request.method == "POST" {
        self = .change
      } else {
        self = request.parts.isEmpty ? .overview : .plain
      }
    }

    /// How many queues serve it.
    fileprivate var count: Int {
      switch self {
      case .overview: 1
      case .plain, .change: 2
      case .search: 3
      }
    }
  }

  /// `@unchecked Sendable`: the site is used on the queue only.
  private final class Lane: @unchecked Sendable {
    let queue: DispatchQueue
    let site: Site
    let load = Atomic(0)

    init(_ sort: Sort, _ site: Site) {
      queue = DispatchQueue(label: "workerpool-web.\(sort)")
      self.site = site
    }
  }

  /// By the number of their sort.
  private let lanes: [[Lane]]

  init(_ site: Site) {
    lanes = Sort.allCases.map { sort in (0..<sort.count).map { _ in Lane(sort, Site(beside: site)) } }
  }

  /// Calls `body` on the queue that will answer a request soonest.
  func perform(_ request: HTTPRequest, _ body: @escaping @Sendable (Site) -> Void) {
    let fitting = lanes[Sort(request).rawValue]
    let loads = fitting.map { $0.load.load(ordering: .relaxed) }
    let lane = fitting[loads.indices.min { loads[$0] < loads[$1] } ?? 0]
    lane.load.wrappingAdd(1, ordering: .relaxed)
    lane.queue.async {
      body(lane.site)
      lane.load.wrappingSubtract(1, ordering: .relaxed)
    }
  }
}
