import Glibc

/// Makes every test check that contexts and objects are used on their queues; programs that tests start inherit the
/// variable.
///
/// It runs when the program is loaded, since Core Data looks at the variable once, and a test may be the first to use
/// it.
@section(".init_array") @used
private let requestOfConcurrencyDebug: @convention(c) () -> Void = {
  setenv("com.apple.CoreData.ConcurrencyDebug", "1", 0)
}
