/// The progress of a migration can be observed: `migrationProgress`, and no other property.
extension NSMigrationManager: _KeyValueCodingAndObserving {
  final func setProgress(_ progress: Float) {
    if progress == migrationProgress { return }
    let observed = ObservedChange(of: self, key: "migrationProgress")
    migrationProgress = progress
    observed?.finish()
  }

  /// Whether the property is `migrationProgress`.
  public final func _isObservable(_ key: String) -> Bool { key == "migrationProgress" }

  /// `migrationProgress` by its name; nil for other names.
  public final func value(forKey key: String) -> Any? {
    _isObservable(key) ? NSNumber(value: migrationProgress) : nil
  }
}

extension _KeyValueCodingAndObserving where Self: NSMigrationManager {
  /// Calls the handler at each change of `migrationProgress`, on the thread that migrates. The observation does not
  /// keep the manager alive.
  ///
  /// ```swift
  /// let manager = NSMigrationManager(sourceModel: model, destinationModel: model)
  /// let observation = manager.observe(\.migrationProgress) { manager, _ in print(manager.migrationProgress) }
  /// observation.invalidate()
  /// ```
  ///
  /// - Parameter keyPath: `\.migrationProgress`. Traps for any other.
  public func observe(
    _ keyPath: KeyPath<Self, Float>, options: NSKeyValueObservingOptions = [],
    changeHandler: @escaping (Self, NSKeyValueObservedChange<Float>) -> Void
  ) -> NSKeyValueObservation {
    require(keyPath == \Self.migrationProgress, "\(keyPath) of a migration manager cannot be observed.")
    return observe(keyPath, key: "migrationProgress", options: options, changeHandler)
  }
}
