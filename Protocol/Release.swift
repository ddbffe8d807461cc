import CSystem

/// Which version of the package this is: the pool, its command and the workers are built and released together.
public enum Release {
  /// That of the newest release in `.github/CHANGELOG.md`; both are raised by hand. Pools tell it each other, so a
  /// build that is installed beside another one needs another version, or the commit.
  public static let version = "1.0.0"

  /// The commit that this was built from; nil where the build was not told:
  ///
  ///     swift build -c release -Xcc -DWORKERPOOL_COMMIT="\"$(git rev-parse --short HEAD)\""
  public static var commit: String? {
    let commit = String(cString: csystem_commit())
    return commit.isEmpty ? nil : commit
  }

  /// As in `1.0.0 (f6d94ec)`.
  public static var text: String { version + (commit.map { " (\($0))" } ?? "") }
}
