/// The form for a person's token.
enum LogInForm {
  /// - Parameter page: the path and query of the page that is shown then; nil for the first one.
  static func html(page: String?) -> HTML {
    tag("form", Attribute("method", "post"), .action(Access.logIn), .class("inline")) {
      if let page { tag("input", .type("hidden"), .name("page"), .value(page)) }
      field(
        "Token", name: "token", value: nil, type: "password",
        more: [Attribute("autocomplete", "current-password"), Attribute("required")])
      tag("button", .class("first")) { "Log in" }
    }
  }
}
