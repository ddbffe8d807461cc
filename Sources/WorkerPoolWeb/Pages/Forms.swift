/// Forms that change something: each has the server's key, and none is there when the pages are read-only.
struct Forms {
  let key: String
  let isReadOnly: Bool

  /// A form with one button.
  func button(
    _ title: String, to address: Address, fields: [(String, String?)] = [], isDangerous: Bool = false,
    label: String? = nil
  ) -> HTML {
    form(to: address, fields: fields) {
      tag("button", with: [.class(isDangerous ? "danger" : "")] + (label.map { [Attribute("aria-label", $0)] } ?? [])) {
        title
      }
    }
  }

  /// A form with hidden fields and visible ones.
  func form(to address: Address, fields: [(String, String?)] = [], @HTMLBuilder content: () -> HTML) -> HTML {
    guard !isReadOnly else { return .nothing }
    let content = content()
    return tag("form", Attribute("method", "post"), .action(address), .class("inline")) {
      tag("input", .type("hidden"), .name("key"), .value(key))
      for (name, value) in fields {
        if let value { tag("input", .type("hidden"), .name(name), .value(value)) }
      }
      content
    }
  }
}

/// A text field with its label.
func field(
  _ label: String, name: String, value: String?, type: String = "text", more: [Attribute] = []
) -> HTML {
  tag("label") {
    tag("span") { label }
    tag("input", with: [.type(type), .name(name), .value(value ?? "")] + more)
  }
}
