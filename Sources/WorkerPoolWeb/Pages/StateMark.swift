import Jobs

/// A state as a word with a shape: nobody needs to see colours.
enum StateMark {
  static func html(_ state: String) -> HTML {
    tag("span", .class("state \(state)")) {
      tag("svg", Attribute("viewBox", "0 0 12 12"), Attribute("aria-hidden", "true")) {
        tag("path", Attribute("d", shapes[state] ?? "M2 6h8"))
      }
      state
    }
  }

  /// Strokes in a square of 12.
  private static let shapes = [
    "running": "M3.5 2.5v7l6-3.5z", "available": "M6 2a4 4 0 1 0 .01 0z",
    "scheduled": "M6 1.5a4.5 4.5 0 1 0 .01 0zM6 3.5V6l2 1.2", "retryable": "M9.5 4A4 4 0 1 0 10 7M9.8 1.5V4.2H7",
    "succeeded": "M2 6.5l3 3 5-7", "dead": "M2.5 2.5l7 7M9.5 2.5l-7 7",
    "cancelled": "M6 1.5a4.5 4.5 0 1 0 .01 0zM2.8 2.8l6.4 6.4", "pending": "M2 6h.01M6 6h.01M10 6h.01",
    "blocked": "M4 2.5v7M8 2.5v7", "paused": "M4 2.5v7M8 2.5v7",
  ]

  /// All states in the order in which people look at them.
  static let order = [
    "running", "available", "scheduled", "retryable", "blocked", "pending", "dead", "succeeded", "cancelled",
  ]
}
