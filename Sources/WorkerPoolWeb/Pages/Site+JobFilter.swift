import Foundation
import Jobs
import PoolClient

/// The form by which a person chooses jobs.
extension Site {
  func form(_ list: JobList) -> HTML {
    let filter = list.filter
    return tag("form", Attribute("method", "get"), .action(Address("jobs")), .class("filter"), .id("filter")) {
      tag("label") {
        tag("span") { "State" }
        tag("select", .name("state")) {
          tag("option", .value("")) { "all" }
          for state in StateMark.order {
            tag("option", with: [.value(state)] + (state == filter.stateName ? [Attribute("selected")] : [])) { state }
          }
        }
      }
      tag("label") {
        tag("span") { "Waits for" }
        tag("select", .name("waits-for")) {
          tag("option", .value("")) { "anything" }
          for wait in JobWait.allCases {
            tag("option", with: [.value(wait.rawValue)] + (wait == filter.wait ? [Attribute("selected")] : [])) {
              wait.title
            }
          }
        }
      }
      field("Kind", name: "kind", value: filter.kind)
      field("Queue", name: "queue", value: filter.queue)
      field("Batch", name: "batch", value: filter.batch)
      field("Tag", name: "tag", value: filter.tag)
      time("Came from", name: "from", filter.from)
      time("Came before", name: "to", filter.to)
      tag("label") {
        tag("span") { "Order" }
        tag("select", .name("sort")) {
          for order in JobOrder.allCases {
            tag("option", with: [.value(order.rawValue)] + (order == list.order ? [Attribute("selected")] : [])) {
              "\(order.rawValue) first"
            }
          }
        }
      }
      if let error = filter.error { field("Error", name: "error", value: error) }
      tag("div", .class("wide")) {
        field(
          "Search", name: "search", value: filter.search, type: "search",
          more: [Attribute("placeholder", "p17, or any text")])
      }
      tag("div", .class("wide")) {
        field(
          "Condition", name: "where", value: filter.predicate,
          more: [Attribute("placeholder", "attempt > 2 AND priority < 0")])
      }
      tag("div") { tag("button", .class("first")) { "Show" } }
    }
  }

  /// A field for a time: in UTC, which the script turns into the browser's own time zone, and back when the form is
  /// sent. So the page's address has UTC.
  private func time(_ label: String, name: String, _ date: Date?) -> HTML {
    tag("label", .class("wide")) {
      tag("span") { "\(label) (UTC)" }
      tag(
        "input", .type("datetime-local"), .name(name), Attribute("step", "1"),
        .value(date.map { String(Timestamp.text($0).prefix(19)) } ?? ""))
    }
  }

  /// Lists of the jobs that came lately, as links.
  func recent(_ list: JobList, now: Date) -> HTML {
    let minute = Date(timeIntervalSinceReferenceDate: (now.timeIntervalSinceReferenceDate / 60).rounded(.down) * 60)
    return tag("p", .class("quiet recent")) {
      "Came in the last "
      for (name, hours) in [("hour", 1.0), ("day", 24), ("week", 168)] {
        link(name, Self.list(list, since: minute - hours * 3600))
        " "
      }
    }
  }

  private static func list(_ list: JobList, since date: Date) -> Address {
    var filter = list.filter
    (filter.from, filter.to) = (date, nil)
    return JobList(filter: filter, order: list.order).address
  }
}
