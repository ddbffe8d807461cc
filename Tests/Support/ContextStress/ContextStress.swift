import CoreData

/// Eight contexts of all kinds on two coordinators on one file change it at random, and at its end what they did is
/// counted.
///
///     context-stress [--seconds 10] [--seed 1]
///
/// Ends with an error where an update was lost or made twice, a context disagrees with the file, nothing moves any
/// more, or memory grows.
@main struct ContextStress {
  static func main() {
    let seconds = argument("--seconds").flatMap(Double.init) ?? 10
    let seed = argument("--seed").flatMap(UInt64.init) ?? UInt64.random(in: 1...1_000_000)
    print("seed \(seed), \(seconds) s")
    // The main queue has to run; the rest is on a thread of its own.
    Thread.detachNewThread {
      do {
        try run(seed: seed, seconds: seconds)
        exit(0)
      } catch {
        print("FAILED: \(error)")
        exit(1)
      }
    }
    dispatchMain()
  }

  private static func run(seed: UInt64, seconds: Double) throws {
    let stress = try Stress(seed: seed)
    defer { stress.removeFiles() }
    try stress.run(seconds: seconds)
  }

  private static func argument(_ name: String) -> String? {
    let arguments = CommandLine.arguments
    return arguments.firstIndex(of: name).flatMap { $0 + 1 < arguments.count ? arguments[$0 + 1] : nil }
  }
}

/// What is not as it should be.
struct Wrong: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
