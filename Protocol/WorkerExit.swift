/// Exit codes of workers that have a meaning for the pool.
public enum WorkerExit {
  /// Before `HELLO`: the worker cannot begin now for a reason that is not its own and may pass, such as a server that
  /// has no connection left. The pool tries again, with longer and longer waits, and does not give up the plugin.
  /// `EX_TEMPFAIL` of sysexits.h.
  public static let tryLater: Int32 = 75
}
