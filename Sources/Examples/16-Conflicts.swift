import CoreData

func conflicts(_ place: Place) async throws {
  let container = try place.loadedContainer()
  let id = try await container.performBackgroundTask { context in
    let person = Person(context: context)
    (person.name, person.age, person.email) = ("Ada", 36, "ada@example.org")
    try context.save()
    return person.objectID
  }
  try await resolve(container, id)
  try await decide(container, id)
  try await takeOver(container)
}

/// Two contexts change one object. The second save finds a row that changed since the context read it.
///
///     first                   second
///     reads                   reads
///                             age = 37, save
///     name = "Countess",
///     save: a conflict
private func resolve(_ container: NSPersistentContainer, _ id: NSManagedObjectID) async throws {
  for (policy, expected) in [
    (NSMergePolicy.mergeByPropertyObjectTrump, "Countess, 37"), (.mergeByPropertyStoreTrump, "Countess, 37"),
    (.overwrite, "Countess, 36"), (.rollback, "Ada, 37"),
  ] {
    let (first, second) = (container.newBackgroundContext(), container.newBackgroundContext())
    await first.perform {
      first.mergePolicy = policy
      // A context drops clean objects that nobody holds, and reads them again.
      first.retainsRegisteredObjects = true
      _ = (first.object(with: id) as? Person)?.name
    }
    try await second.perform {
      (second.object(with: id) as? Person)?.age = 37
      try second.save()
    }
    try await first.perform {
      (first.object(with: id) as? Person)?.name = "Countess"
      try first.save()
    }
    let result = try await container.performBackgroundTask { context in
      let person = try context.existingObject(with: id) as? Person
      let result = "\(person?.name ?? ""), \(person?.age ?? 0)"
      person?.name = "Ada"
      person?.age = 36
      try context.save()
      return result
    }
    try show("policy \(policy.mergeType.rawValue): \(result)", result == expected)
  }
}

/// The default policy is an error that names the objects: decide, and save again.
private func decide(_ container: NSPersistentContainer, _ id: NSManagedObjectID) async throws {
  let (first, second) = (container.newBackgroundContext(), container.newBackgroundContext())
  await first.perform {
    first.retainsRegisteredObjects = true
    _ = (first.object(with: id) as? Person)?.name
  }
  try await second.perform {
    (second.object(with: id) as? Person)?.age = 40
    try second.save()
  }
  let conflicts = try await first.perform { () throws -> Int in
    (first.object(with: id) as? Person)?.name = "Countess"
    do {
      try first.save()
      return 0
    } catch let error as NSError {
      return (error.userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSMergeConflict])?.count ?? 0
    }
  }
  try show("without a policy: an error with \(conflicts) conflict", conflicts == 1)
}

/// A value that must be unique: with the object-trump policy the new object takes over the row that has it.
private func takeOver(_ container: NSPersistentContainer) async throws {
  let importing = container.newBackgroundContext()
  try await importing.perform {
    importing.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
    let person = Person(context: importing)
    (person.name, person.email) = ("Ada Lovelace", "ada@example.org")
    try importing.save()
  }
  let names = try await container.performBackgroundTask { context in
    try context.fetch(Person.fetchRequest()).compactMap(\.name)
  }
  try show("one person with that address: \(names)", names == ["Ada Lovelace"])
}
