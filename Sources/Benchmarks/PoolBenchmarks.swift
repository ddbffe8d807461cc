/// The pool: measured once there is one.
enum PoolBenchmarks {
  static var measures: [Measure] { [] }
}
