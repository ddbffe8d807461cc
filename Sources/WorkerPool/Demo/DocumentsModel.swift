import Foundation

/// The model that `worker-index` works on and the demo ships, in Xcode's format.
enum DocumentsModel {
  static let name = "Documents"

  /// Writes the model as `Documents.xcdatamodeld` into a directory.
  ///
  /// - Returns: the path.
  static func write(into directory: URL) throws -> String {
    let bundle = directory.appendingPathComponent("\(name).xcdatamodeld")
    let version = bundle.appendingPathComponent("\(name).xcdatamodel")
    try FileManager.default.createDirectory(at: version, withIntermediateDirectories: true)
    try Data(contents.utf8).write(to: version.appendingPathComponent("contents"))
    return bundle.path
  }

  // Term has no relationship back: a common word would otherwise be written by every job, and jobs would wait for each other.
  private static let contents = """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" lastSavedToolsVersion="22758" \
    systemVersion="23F79" minimumToolsVersion="Automatic" sourceLanguage="Swift" userDefinedModelVersionIdentifier="">
        <entity name="Document" representedClassName="Document" syncable="YES">
            <attribute name="indexedAt" optional="YES" attributeType="Date" usesScalarValueType="NO"/>
            <attribute name="lines" attributeType="Integer 64" defaultValueString="0" usesScalarValueType="YES"/>
            <attribute name="modifiedAt" optional="YES" attributeType="Date" usesScalarValueType="NO"/>
            <attribute name="name" optional="YES" attributeType="String"/>
            <attribute name="path" attributeType="String"/>
            <attribute name="size" attributeType="Integer 64" defaultValueString="0" usesScalarValueType="YES"/>
            <attribute name="words" attributeType="Integer 64" defaultValueString="0" usesScalarValueType="YES"/>
            <relationship name="occurrences" optional="YES" toMany="YES" deletionRule="Cascade" \
    destinationEntity="Occurrence" inverseName="document" inverseEntity="Occurrence"/>
            <uniquenessConstraints>
                <uniquenessConstraint>
                    <constraint value="path"/>
                </uniquenessConstraint>
            </uniquenessConstraints>
        </entity>
        <entity name="Occurrence" representedClassName="Occurrence" syncable="YES">
            <attribute name="count" attributeType="Integer 64" defaultValueString="0" usesScalarValueType="YES"/>
            <attribute name="firstLine" attributeType="Integer 64" defaultValueString="0" usesScalarValueType="YES"/>
            <relationship name="document" optional="YES" maxCount="1" deletionRule="Nullify" \
    destinationEntity="Document" inverseName="occurrences" inverseEntity="Document"/>
            <relationship name="term" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Term"/>
        </entity>
        <entity name="Term" representedClassName="Term" syncable="YES">
            <attribute name="text" attributeType="String"/>
            <uniquenessConstraints>
                <uniquenessConstraint>
                    <constraint value="text"/>
                </uniquenessConstraint>
            </uniquenessConstraints>
        </entity>
    </model>

    """
}
