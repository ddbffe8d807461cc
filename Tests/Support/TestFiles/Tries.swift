/// How often a test tries something at random: many times in optimised tests, which are quick, and fewer in debug ones.
///
/// Each run of the gate does both.
public func tries(_ many: Int, inDebug few: Int) -> Int {
  #if DEBUG
    few
  #else
    many
  #endif
}
