import CoreData
import Foundation
import Jobs
import Testing

/// Values that JSON has no way to write.
@Suite struct ObjectValuesTests {
  private func values(_ types: [NSAttributeType], _ values: [Any], dates: ObjectValues.DateStyle) throws -> [JSONValue]
  {
    let entity = NSEntityDescription()
    entity.name = "Item"
    let names = types.indices.map { "v\($0)" }
    entity.properties = zip(names, types).map { name, type in
      let attribute = NSAttributeDescription()
      attribute.name = name
      attribute.attributeType = type
      return attribute
    }
    let object = NSManagedObject(entity: entity, insertInto: nil)
    for (name, value) in zip(names, values) { object.setValue(value, forKey: name) }
    return try ObjectValues(entity: entity, properties: names, dates: dates).values(of: object)
  }

  @Test(arguments: ObjectValues.DateStyle.allCases)
  func whatJSONCannotWriteIsNull(dates: ObjectValues.DateStyle) throws {
    let jsonValues = try values(
      [.decimalAttributeType, .doubleAttributeType, .floatAttributeType, .dateAttributeType, .dateAttributeType],
      [
        NSDecimalNumber.notANumber, Double.infinity, Float.nan, Date(timeIntervalSinceReferenceDate: .infinity),
        Date(timeIntervalSinceReferenceDate: .nan),
      ], dates: dates)
    #expect(jsonValues == [nil, nil, nil, nil, nil])
  }

  @Test func aDateOutsideOfTheYearsOfRFC3339IsNullUnlessItIsWrittenInSeconds() throws {
    let dates = [1e300, -1e300, 252_423_993_600, 252_423_993_599, -63_145_526_400, -63_145_526_401]
      .map { Date(timeIntervalSinceReferenceDate: $0) }
    let types = Array(repeating: NSAttributeType.dateAttributeType, count: dates.count)
    #expect(
      try values(types, dates, dates: .iso8601)
        == [nil, nil, nil, "9999-12-31T23:59:59Z", "0000-01-01T00:00:00Z", nil])
    #expect(
      try values(types, dates, dates: .seconds) == dates.map { .number(String($0.timeIntervalSinceReferenceDate)) })
  }
}
