import CoreData

/// Places with an address, a composite attribute with a composite position inside, and visitors with such an address.
package enum PlacesModel {
  package static func make(_ change: (NSCompositeAttributeDescription) -> Void = { _ in }) -> NSManagedObjectModel {
    let place = LibraryModel.entity("Place", [LibraryModel.attribute("name", .stringAttributeType), address()])
    let shop = LibraryModel.entity("Shop", [LibraryModel.attribute("goods", .stringAttributeType)])
    place.subentities = [shop]
    let visitor = LibraryModel.entity("Visitor", [LibraryModel.attribute("name", .stringAttributeType)])
    LibraryModel.relate(visitor, "home", place, "guests", toMany: (false, true))
    if let address = place.attributesByName["address"] as? NSCompositeAttributeDescription { change(address) }
    let model = NSManagedObjectModel()
    model.entities = [place, shop, visitor]
    return model
  }

  package static func address() -> NSCompositeAttributeDescription {
    let position = composite(
      "position",
      [LibraryModel.attribute("lat", .doubleAttributeType), LibraryModel.attribute("lon", .doubleAttributeType)])
    return composite(
      "address",
      [
        LibraryModel.attribute("city", .stringAttributeType),
        LibraryModel.attribute("number", .integer16AttributeType),
        LibraryModel.attribute("since", .dateAttributeType),
        LibraryModel.attribute("rent", .decimalAttributeType),
        LibraryModel.attribute("key", .UUIDAttributeType),
        LibraryModel.attribute("page", .URIAttributeType),
        LibraryModel.attribute("plan", .binaryDataAttributeType),
        LibraryModel.attribute("tags", .transformableAttributeType),
        LibraryModel.attribute("isOpen", .booleanAttributeType),
        LibraryModel.attribute("share", .floatAttributeType),
        position,
      ])
  }

  package static func composite(_ name: String, _ elements: [NSAttributeDescription]) -> NSCompositeAttributeDescription
  {
    let composite = NSCompositeAttributeDescription()
    composite.name = name
    composite.elements = elements
    return composite
  }

  package static let key = UUID()

  /// A value for every element.
  package static var full: [String: Any] {
    [
      "city": "Rome", "number": 7, "since": Date(timeIntervalSinceReferenceDate: 5),
      "rent": NSDecimalNumber(string: "10.25"), "key": key, "page": URL(string: "https://example.org/a") as Any,
      "plan": Data([1, 2]), "tags": ["x", "y"] as NSArray, "isOpen": true, "share": 0.5,
      "position": ["lat": 41.5, "lon": 12.25],
    ]
  }
}

extension NSManagedObject {
  package func address(_ key: String) -> Any? { value(forKeyPath: "address.\(key)") }
}
