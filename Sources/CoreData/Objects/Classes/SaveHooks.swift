/// The hooks that a save has to call for the objects of an entity.
///
/// `PendingChanges.hooks` is the union over the changed objects, so a save of 100,000 plain rows makes five tests and
/// no loop; where one entity has a hook, the loop over the list tests each object's layout.
struct SaveHooks: OptionSet {
  let rawValue: UInt8
  static let willSave = SaveHooks(rawValue: 1 << 0)
  static let didSave = SaveHooks(rawValue: 1 << 1)
  static let validateForInsert = SaveHooks(rawValue: 1 << 2)
  static let validateForUpdate = SaveHooks(rawValue: 1 << 3)
  static let validateForDelete = SaveHooks(rawValue: 1 << 4)

  /// The methods that the class overrides, and the validations that the model's rules make necessary.
  ///
  /// A Deny rule of any relationship of the entity, inherited ones included, needs `validateForDelete`. An override of
  /// `validateValue(_:forKey:)` is called by the default `validateForInsert()` and `validateForUpdate()`, so it needs
  /// both.
  init(_ layout: EntityLayout) {
    var hooks: SaveHooks = []
    let methods: [(SaveHooks, OverriddenMethods.Method)] = [
      (.willSave, .willSave), (.didSave, .didSave), (.validateForInsert, .validateForInsert),
      (.validateForUpdate, .validateForUpdate), (.validateForDelete, .validateForDelete),
    ]
    for (hook, method) in methods where OverriddenMethods.overrides(method, layout.objectClass) { hooks.insert(hook) }
    if layout.classValidatesValues || !layout.validatedSlots.isEmpty || !layout.validatedToManys.isEmpty {
      hooks.formUnion([.validateForInsert, .validateForUpdate])
    }
    if layout.entity.relationshipsByName.values.contains(where: { $0.deleteRule == .denyDeleteRule }) {
      hooks.insert(.validateForDelete)
    }
    self = hooks
  }

  init(rawValue: UInt8) { self.rawValue = rawValue }
}
