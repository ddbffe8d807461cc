/// Core Data's debugging switches, such as `ConcurrencyDebug`: a launch argument `-com.apple.CoreData.NAME VALUE` or an
/// environment variable `com.apple.CoreData.NAME`.
enum LaunchArgument {
  /// The switch's value; the argument wins over the variable. Nil if neither is set.
  static func value(_ name: String) -> String? {
    let key = "com.apple.CoreData." + name
    let arguments = CommandLine.arguments
    if let index = arguments.firstIndex(of: "-" + key), index + 1 < arguments.count { return arguments[index + 1] }
    return ProcessInfo.processInfo.environment[key]
  }
}
