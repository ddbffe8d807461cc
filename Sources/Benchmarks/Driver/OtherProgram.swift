/// Another build of this program, whose measures run in turn with this one's. A machine that becomes slower meanwhile
/// slows down both.
struct OtherProgram {
  let path: String

  /// Takes the measure in both programs: here, there, there, here, each time with half of the rounds. The other
  /// program's figures take the place of plain C's.
  func run(_ name: String, _ options: Options) -> MeasureProcess.Outcome {
    let half = options.rounds((options.rounds + 1) / 2)
    var ours = MeasureProcess.run(name, half)
    var others = MeasureProcess.run(name, half, program: path)
    others.add(MeasureProcess.run(name, half, program: path))
    ours.add(MeasureProcess.run(name, half))
    let failure = ours.failure ?? others.failure.map { "in \(path): \($0)" }
    return MeasureProcess.Outcome(figures: ours.figures.compactMap { $0.beside(others.figures) }, failure: failure)
  }
}

extension MeasureProcess.Outcome {
  /// Adds the samples of further rounds.
  fileprivate mutating func add(_ more: Self) {
    failure = failure ?? more.failure
    for figure in more.figures {
      guard let index = figures.firstIndex(where: { $0.name == figure.name }) else { continue }
      figures[index].ours += figure.ours
      figures[index].oursUse += figure.oursUse
    }
  }
}

extension Figure {
  /// The samples beside those of the other program's figure with the same name; nil if it has none.
  fileprivate func beside(_ others: [Figure]) -> Figure? {
    guard let other = others.first(where: { $0.name == name }) else { return nil }
    return Figure(
      name: name, unit: unit, ours: ours, plain: other.ours, comparedWith: "other", oursUse: oursUse,
      plainUse: other.oursUse, rows: rows)
  }
}
