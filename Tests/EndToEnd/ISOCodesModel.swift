import Foundation
import Testing

/// A model for the tables of `iso-codes`, in Xcode's format.
enum ISOCodesModel {
  static func write(into place: TestPlace) throws -> String {
    try place.write(contents, to: "ISO.xcdatamodeld/ISO.xcdatamodel/contents")
    return place.path("ISO.xcdatamodeld")
  }

  private static func attributes(_ names: String...) -> String {
    names.map { #"<attribute name="\#($0)" optional="YES" attributeType="String"/>"# }.joined(separator: "\n")
  }

  private static func unique(_ name: String) -> String {
    """
    <uniquenessConstraints><uniquenessConstraint><constraint value="\(name)"/></uniquenessConstraint>\
    </uniquenessConstraints>
    """
  }

  private static var contents: String {
    """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="">
      <entity name="Country" representedClassName="Country">
        \(attributes("alpha_2", "alpha_3", "common_name", "flag", "name", "numeric", "official_name"))
        <relationship name="subdivisions" optional="YES" toMany="YES" deletionRule="Nullify" \
    destinationEntity="Subdivision" inverseName="country" inverseEntity="Subdivision"/>
        \(unique("alpha_2"))
      </entity>
      <entity name="Language" representedClassName="Language">
        \(attributes("alpha_2", "alpha_3", "bibliographic", "common_name", "inverted_name", "name", "scope", "type"))
        \(unique("alpha_3"))
      </entity>
      <entity name="Subdivision" representedClassName="Subdivision">
        \(attributes("code", "name", "type"))
        <relationship name="children" optional="YES" toMany="YES" deletionRule="Nullify" \
    destinationEntity="Subdivision" inverseName="parent" inverseEntity="Subdivision"/>
        <relationship name="country" optional="YES" maxCount="1" deletionRule="Nullify" \
    destinationEntity="Country" inverseName="subdivisions" inverseEntity="Country"/>
        <relationship name="parent" optional="YES" maxCount="1" deletionRule="Nullify" \
    destinationEntity="Subdivision" inverseName="children" inverseEntity="Subdivision"/>
        \(unique("code"))
      </entity>
    </model>
    """
  }

  /// The job file that imports all three tables: one job for each.
  static let jobs = """
    {"kind":"import","parameters":{"file":"\(ISOCodes.directory)/iso_3166-1.json","root":"3166-1","entity":"Country",\
    "key":"alpha_2"}}
    {"kind":"import","parameters":{"file":"\(ISOCodes.directory)/iso_3166-2.json","root":"3166-2",\
    "entity":"Subdivision","key":"code","relationships":{"country":{"key":"alpha_2","value":"{code:before:-}"},\
    "parent":{"key":"code","value":"{parent}","prefix":"{code:before:-}-"}}}}
    {"kind":"import","parameters":{"file":"\(ISOCodes.directory)/iso_639-3.json","root":"639-3","entity":"Language",\
    "key":"alpha_3"}}

    """
}

/// A table of `iso-codes`, read without the code under test.
struct ISOTable {
  let rows: [[String: Any]]

  init(_ name: String) throws {
    let data = try Data(contentsOf: URL(fileURLWithPath: ISOCodes.directory + "/iso_\(name).json"))
    let root = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    rows = try #require(root[name] as? [[String: Any]])
  }

  var count: Int { rows.count }
  func count(having field: String) -> Int { rows.count { $0[field] != nil } }
}
