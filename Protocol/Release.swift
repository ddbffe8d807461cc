import CSystem

/// Which version of the package this is: the pool, its command and the workers are built and released together.
public enum Release {
  /// Raised by hand with each release.
  public static let version = "0.10.0"

  /// The commit that this was built from; nil where the build was not told:
  ///
  ///     swift build -c release -Xcc -DWORKERPOOL_COMMIT="\"$(git rev-parse --short HEAD)\""
  public static var commit: String? {
    let commit = String(cString: csystem_commit())
    return commit.isEmpty ? nil : commit
  }

  /// As in `0.10.0 (f6d94ec)`.
  public static var text: String { version + (commit.map { " (\($0))" } ?? "") }
}
