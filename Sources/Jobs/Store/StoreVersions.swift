import CoreData

/// What a pool's store of another version tells before it is brought up to date: the version of its tables, and which
/// pools run there.
///
/// It is read with the option to ignore the model's version, and with the two entities that all versions have. A pool
/// that is killed leaves its row. A pool lives if its lock is held: that of the file (`StoreLock`), or that at the
/// server (`heldLocks(among:)`).
///
/// ```text
/// the tables                           this program
/// older than `oldestTablesVersion`     storeIsTooOld
/// older, and older pools run           olderPoolsRun: they would not understand the tables afterwards
/// older, and none runs                 brought up to date
/// the same                             opened
/// newer                                storeIsNewer
/// ```
struct StoreVersions {
  private let place: String
  /// The version of the tables; nil if it is not known.
  private var version: Int?
  /// Pools that run and do not understand this version of the tables, as text.
  private var olderPools: [String] = []

  /// - Parameter options: those with which the pool's store is opened.
  init(at url: URL, _ options: [AnyHashable: Any]) {
    place = StorePlace(url).description
    // Reads only what all versions have. For a store that cannot be read no version is known; opening it throws the
    // reason.
    try? read(url, options)
  }

  private mutating func read(_ url: URL, _ options: [AnyHashable: Any]) throws {
    let model = JobModel.make()
    let names = url.isFileURL ? [PoolSetting.entityName] : [PoolSetting.entityName, PoolMember.entityName]
    let configuration = "Versions"
    model.setEntities(model.entities.filter { names.contains($0.name ?? "") }, forConfigurationName: configuration)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let readOnly: [AnyHashable: Any] = [
      NSReadOnlyPersistentStoreOption: true, NSIgnorePersistentStoreVersioningOption: true,
      NSPersistentStoreMustExistOption: true,
    ]
    let store = try coordinator.addPersistentStore(
      ofType: StorePlace.storeType(at: url), configurationName: configuration, at: url,
      options: options.merging(readOnly) { $1 })
    // The coordinator and its store end with this function in any case.
    defer { try? coordinator.remove(store) }
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      version = try PoolSetting.find(JobStore.versionName, in: context)?.value.flatMap { Int($0) }
      if url.isFileURL {
        // The row of a pool that was killed stays; the kernel has released its lock.
        guard StoreLock.isTakenByAnotherProcess(url.path), let owner = try PoolOwner.find(in: context) else { return }
        if let pool = olderPool("process \(owner.pid), queue directory \(owner.queue)", owner) { olderPools = [pool] }
        return
      }
      let members = try PoolMember.all(in: context).filter { $0.goneAt == nil }
      // Of a pool that was killed there is only the row.
      let living = try coordinator.heldLocks(among: members.map(\.identity))
      let owners = try PoolOwner.all(in: context)
      olderPools = members.filter { living.contains($0.identity) }.compactMap { member in
        olderPool(
          "process \(member.pid) of \(member.host), queue directory \(member.queue)",
          owners.first { $0.member == member.identity })
      }
    }
  }

  /// The text about a pool that runs, with its version if it told one; nil if it understands this version of the
  /// tables.
  private func olderPool(_ text: String, _ owner: PoolOwner?) -> String? {
    if let tables = owner?.tables ?? version, tables >= JobModel.tablesVersion { return nil }
    return text + (owner?.version.map { ", workerpool \($0)" } ?? "")
  }

  /// Throws if the tables cannot be brought up to date, or if a pool that runs would not understand them then.
  func requireUpgrade() throws {
    guard let version else { return }
    if version < JobModel.oldestTablesVersion { throw JobModelError.storeIsTooOld(place, version: version) }
    if version < JobModel.tablesVersion, !olderPools.isEmpty {
      throw JobModelError.olderPoolsRun(place, version: version, pools: olderPools.sorted())
    }
  }

  /// Why a store that additions do not bring to this version is refused; nil for a store that has no newer version.
  /// What older versions lack is added, so a newer store has something that this version does not know.
  var refusal: JobModelError? {
    if let version, version < JobModel.tablesVersion { nil } else { .storeIsNewer(place) }
  }
}
