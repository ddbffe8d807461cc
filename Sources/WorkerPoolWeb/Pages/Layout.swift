/// The frame of all pages.
enum Layout {
  /// A page of the site.
  struct Page {
    var title: String
    /// The name of the part of the site that it belongs to.
    var part: String
    var content: HTML
    /// Whether it changes while one looks at it.
    var isLive = true
    var status: UInt32 = 200
  }

  /// The parts of the site: names and addresses.
  static let parts: [(name: String, address: Address)] = [
    ("Overview", Address()), ("Jobs", Address("jobs")), ("Queues", Address("queues")), ("Kinds", Address("kinds")),
    ("Workers", Address("workers")), ("Periodic", Address("periodic")),
  ]

  static func html(_ page: Page, pool: String, visitor: Visitor) -> HTML {
    document(title: "\(page.title) · workerpool") {
      tag("a", .class("skip"), .href(Address(fragment: "main"))) { "Skip to the content" }
      tag("header") {
        tag("nav", Attribute("aria-label", "Pages")) {
          tag("span", .class("name")) { "workerpool" }
          for part in parts {
            if part.name == page.part {
              tag("a", .href(part.address), Attribute("aria-current", "page")) { part.name }
            } else {
              link(part.name, part.address)
            }
          }
        }
        tag("div", .class("pool")) {
          tag("span", .id("pool-line")) { pool }
          if visitor.isReadOnly { tag("span", .class("badge")) { "read-only" } }
          tag("span", .id("live"), Attribute("role", "status")) {}
          tag("div", .class("visitor")) {
            if let name = visitor.name { tag("span") { name } }
            Forms(key: visitor.formKey, isReadOnly: false).button("Log out", to: Access.logOut)
          }
        }
      }
      Patterns.html
      if page.isLive {
        tag("main", .id("main"), Attribute("data-live", "yes"), Attribute("tabindex", "-1")) { page.content }
      } else {
        tag("main", .id("main"), Attribute("tabindex", "-1")) { page.content }
      }
    }
  }

  /// A page without the frame, for those who may not see it.
  static func plain(title: String, text: String, content: HTML = .nothing) -> HTML {
    document(title: title) {
      tag("main", .class("plain")) {
        tag("h1") { title }
        tag("p") { text }
        content
      }
    }
  }

  private static func document(title: String, @HTMLBuilder body: () -> HTML) -> HTML {
    tag("html", Attribute("lang", "en")) {
      tag("head") {
        tag("meta", Attribute("charset", "utf-8"))
        tag("meta", .name("viewport"), Attribute("content", "width=device-width, initial-scale=1"))
        tag("meta", .name("color-scheme"), Attribute("content", "light dark"))
        tag("title") { title }
        tag("link", Attribute("rel", "stylesheet"), .href(Assets.style))
        tag("link", Attribute("rel", "icon"), .href(Address("favicon.ico")), .type("image/svg+xml"))
        tag("script", .src(Assets.script), Attribute("defer")) {}
      }
      tag("body", content: body)
    }
  }
}
