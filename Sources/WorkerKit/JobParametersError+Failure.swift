import Jobs

/// A job whose parameters do not fit is dead at once, if the worker lets the error pass: another attempt finds the
/// same.
extension JobParametersError: DetailedFailure {
  /// Nothing: the job has done nothing.
  public var output: String? { nil }
  /// Nothing: no program has run.
  public var standardError: [String] { [] }
  /// Nil: no program has run.
  public var signal: Int32? { nil }
  /// True: the parameters stay as they are.
  public var isPermanent: Bool { true }
}
