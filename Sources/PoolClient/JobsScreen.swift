import Jobs

/// What `workerpool jobs --watch` shows on a terminal: a list of jobs, of which one is selected, and the story of a job
/// that is opened.
///
/// It is a value without a terminal. The command reads keys and jobs, and calls it in this order:
///
/// ```text
/// key            ──▶ handle(_:rows:)        true: read jobs again
/// jobs           ◀── filter, limit(rows:)   which jobs, and how many
/// jobs, table    ──▶ show(jobs:table:)
/// openedURI      ──▶ show(story:)           where a job is opened
///                ──▶ lines(layout:rows:clock:)
/// ```
///
/// ```text
/// views      list ──Enter──▶ story ──Esc──▶ list         ? shows the keys, any key leads back
///            list ──/──▶ a filter is typed ──Enter──▶ list with the filter ──Esc──▶ list without it
/// ```
///
/// A job is selected, not a line: when newer jobs come, the selection moves down with its job. Only a selection of the
/// first line stays on the first line.
package struct JobsScreen: Sendable {
  private enum View { case list, story, keys }

  private var view = View.list
  private let base: JobFilter
  private let order: JobOrder
  /// The text by which jobs are filtered now, and the one that is being typed.
  private var filterText = ""
  private var typed: String?
  /// The jobs of the list, with its header and lines.
  private var uris: [String] = []
  private var table: [String] = []
  /// The selected job. Nil: the first one, whichever that is.
  private var selectedURI: String?
  private var selected = 0
  private var offset = 0
  /// The job whose story is shown.
  package private(set) var openedURI: String?
  private var story: [String] = []
  private var storyOffset = 0

  /// The most jobs that can be reached by scrolling. A filter finds older ones.
  private static let most = 1000
  /// Columns of the mark before the selected job.
  package static let markWidth = 2

  package init(_ filter: JobFilter, order: JobOrder) {
    base = filter
    self.order = order
  }

  /// The filter with what was typed.
  package var filter: JobFilter { Self.filter(filterText, within: base) }

  /// Whether keys are the letters of a text.
  package var isTyping: Bool { typed != nil }

  /// How many jobs to read for a terminal of that many rows: a screen more than it shows.
  package func limit(rows: Int) -> Int { min(Self.most, offset + 2 * max(1, rows)) }

  /// A filter as it is typed: the name of a state, `kind=`, `queue=`, `batch=` and `tag=` with a name, and other words,
  /// which are searched.
  ///
  /// ```text
  /// dead kind=import        state dead, of the kind import
  /// queue=mail timed out    of the queue mail, with "timed out" in what is searched
  /// ```
  ///
  /// Of two words for the same member the last one counts.
  package static func filter(_ text: String, within base: JobFilter) -> JobFilter {
    var filter = base
    var words: [Substring] = []
    for word in text.split(separator: " ") {
      let halves = word.split(separator: "=", maxSplits: 1)
      switch (halves.first, halves.count) {
      case ("kind", 2): filter.kind = String(halves[1])
      case ("queue", 2): filter.queue = String(halves[1])
      case ("batch", 2): filter.batch = String(halves[1])
      case ("tag", 2): filter.tag = String(halves[1])
      case _ where JobFilter.stateNames.contains(String(word)): filter.stateName = String(word)
      default: words.append(word)
      }
    }
    if !words.isEmpty { filter.search = words.joined(separator: " ") }
    return filter
  }

  // MARK: What is shown

  /// Takes the jobs of the list, and their table with its header. If the selected job is gone, the job that is now in
  /// its line is selected.
  package mutating func show(jobs: [String], table lines: [String]) {
    (uris, table) = (jobs, lines)
    // The selected job stays selected when newer ones come.
    let last = max(0, uris.count - 1)
    selected = selectedURI.map { uri in uris.firstIndex(of: uri) ?? min(selected, last) } ?? 0
    if selectedURI != nil { selectedURI = uris.isEmpty ? nil : uris[selected] }
  }

  /// Takes the story of the opened job.
  package mutating func show(story lines: [String]) { story = lines }

  /// The lines of the screen, `rows` of them at most.
  package mutating func lines(layout: TextLayout, rows: Int, clock: String) -> [String] {
    let room = max(1, rows - 1)
    switch view {
    case .keys: return ScreenHelp.lines(Self.keys, layout: layout, rows: rows)
    case .story:
      let body = story.flatMap { layout.wrapped($0, indentation: 2) }
      storyOffset = min(storyOffset, max(0, body.count - room))
      let part = body.count > room ? "; arrows scroll" : ""
      return body.dropFirst(storyOffset).prefix(room) + [last("Esc leads back; q quits\(part)", layout)]
    case .list:
      if let typed { return list(room, layout) + [last("filter: \(typed)_", layout)] }
      let filtered = filterText.isEmpty ? "" : "; only \(filterText)"
      return list(room, layout)
        + [last("\(order.rawValue) first\(filtered); \(clock) UTC; q quits; / filters; Enter opens; ? help", layout)]
    }
  }

  private func last(_ text: String, _ layout: TextLayout) -> String {
    layout.styled(layout.cut(TerminalText.escaped(text)), .weak)
  }

  private mutating func list(_ room: Int, _ layout: TextLayout) -> [String] {
    guard !uris.isEmpty, let header = table.first else { return [layout.cut("no jobs")] }
    let shown = max(1, room - 1)
    offset = min(max(0, min(offset, selected)), max(0, uris.count - shown))
    offset = max(offset, selected - shown + 1)
    let lines = table.dropFirst().enumerated().dropFirst(offset).prefix(shown).map { index, line in
      (index == selected ? "> " : "  ") + line
    }
    return (["  " + header] + lines).suffix(room)
  }

  private static let keys = [
    ("up, down, k, j", "select a job, or scroll its story"), ("page up, page down, space", "the same by a screen"),
    ("home", "selects the first job, and stays with the first"), ("Enter", "opens the selected job"),
    ("Esc, backspace", "lead back to the list, and remove its filter"),
    ("/", "filters: dead, kind=NAME, queue=NAME, batch=NAME, tag=NAME, or a text that is searched in the newest jobs"),
    ("Ctrl-Z", "lets the shell have the terminal; `fg` leads back"), ("?", "shows and hides this"),
    ("q, Ctrl-C", "quits"),
  ]

  // MARK: Keys

  /// Does what a key asks for.
  ///
  /// - Returns: whether jobs have to be read again.
  package mutating func handle(_ event: ScreenEvent, rows: Int) -> Bool {
    if view == .keys {
      if event != .redraw { view = openedURI == nil ? .list : .story }
      return false
    }
    if var text = typed {
      switch event {
      case .key(let key): text.append(key)
      case .backspace: text = String(text.dropLast())
      case .enter:
        typed = nil
        return apply(text)
      case .escape:
        typed = nil
        return false
      default: return false
      }
      typed = text
      return false
    }
    switch event {
    case .key("?"): view = .keys
    case .key("/"):
      close()
      typed = filterText
    case .enter where view == .list && !uris.isEmpty:
      (view, openedURI, story, storyOffset) = (.story, uris[selected], [], 0)
      return true
    case .escape, .backspace:
      if view == .story { close() } else if !filterText.isEmpty { return apply("") }
    case .up: return move(by: -1)
    case .down: return move(by: 1)
    case .pageUp: return move(by: 2 - rows)
    case .pageDown: return move(by: rows - 2)
    case .home: return move(by: -Int(Int32.max))
    case .key, .enter, .quit, .redraw: break
    }
    return false
  }

  private mutating func close() { (view, openedURI) = (.list, nil) }

  private mutating func apply(_ text: String) -> Bool {
    (filterText, selectedURI, selected, offset) = (text, nil, 0, 0)
    return true
  }

  /// Moves the selection, or scrolls the story. Towards the end of what was read it asks for more jobs.
  private mutating func move(by lines: Int) -> Bool {
    if view == .story {
      storyOffset = max(0, storyOffset + lines)
      return false
    }
    selected = max(0, min(selected + lines, uris.count - 1))
    selectedURI = selected == 0 || uris.isEmpty ? nil : uris[selected]
    // What comes next is read before it is reached.
    return lines > 0 && selected + lines >= uris.count && uris.count < Self.most
  }
}
