/// Core Data's debugging switches, such as `ConcurrencyDebug`: a launch argument `-com.apple.CoreData.NAME VALUE` or an
/// environment variable `com.apple.CoreData.NAME`.
///
/// Xcode passes launch arguments, from which `UserDefaults` makes values on a Mac. A server's process mostly gets
/// neither, so the environment counts as well. Each switch is read once, at its first use: changing the environment
/// later has no effect.
enum LaunchArgument {
  /// The switch's value; the argument wins over the variable. Nil if neither is set.
  static func value(_ name: String) -> String? {
    let key = "com.apple.CoreData." + name
    let arguments = CommandLine.arguments
    if let index = arguments.firstIndex(of: "-" + key), index + 1 < arguments.count { return arguments[index + 1] }
    return ProcessInfo.processInfo.environment[key]
  }
}
