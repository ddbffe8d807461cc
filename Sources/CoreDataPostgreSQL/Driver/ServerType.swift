/// A type of values in the server's catalogue, by its number there.
///
/// How the types of attributes are kept, in columns and in parameters:
///
/// | attribute | column | binary form | in memory |
/// |---|---|---|---|
/// | Integer 16, 32, 64 | `bigint` | 8 bytes, the most significant first | `Int64` |
/// | Boolean | `boolean` | 1 byte | `Bool` |
/// | Double, Float | `double precision` | 8 bytes, IEEE 754 | `Double` |
/// | Decimal | `numeric` | digits to the base of 10,000: `ServerNumeric` | `NSDecimalNumber` |
/// | String, URI | `text COLLATE "C"` | UTF-8 | `String`, `URL` |
/// | Date | `timestamptz` | 8 bytes, microseconds since 2000: `ServerDate` | `Date` |
/// | UUID | `uuid` | 16 bytes | `UUID` |
/// | Binary Data | `bytea` | the bytes | `Data` |
/// | Transformable | `bytea` | the transformer's data | the transformer's value |
/// | Transformable, `JSONValueTransformer` | `jsonb` | a version, 1, and the text | the decoded value |
/// | Composite | a column for each part | as the part | a dictionary |
/// | to-one relationship | `bigint` | the key of the other row | an object |
///
/// All integers are `bigint`, no matter how wide they are in the model: a model that widens one leaves the column as it
/// is. The width is checked when an object is validated.
///
/// `smallint`, `integer` and `real` stand here for columns that a person has altered, and for what expressions give;
/// they are read, and never declared.
///
/// Source: pg_type.dat of PostgreSQL 15. These numbers never change. Pages "Numeric Types", "Character Types",
/// "Date/Time Types", "JSON Types".
package enum ServerType: UInt32, Sendable {
  case boolean = 16
  case bytes = 17
  case int8 = 20
  case int2 = 21
  case int4 = 23
  case text = 25
  case float4 = 700
  case float8 = 701
  case timestamp = 1184
  case numeric = 1700
  case uuid = 2950
  case json = 3802

  /// The type of arrays of the type.
  var array: UInt32 {
    switch self {
    case .boolean: 1000
    case .bytes: 1001
    case .int2: 1005
    case .int4: 1007
    case .text: 1009
    case .int8: 1016
    case .float4: 1021
    case .float8: 1022
    case .timestamp: 1185
    case .numeric: 1231
    case .uuid: 2951
    case .json: 3807
    }
  }

  /// The name in SQL.
  var name: String {
    switch self {
    case .boolean: "boolean"
    case .bytes: "bytea"
    case .int8: "bigint"
    case .int2: "smallint"
    case .int4: "integer"
    case .text: "text"
    case .float4: "real"
    case .float8: "double precision"
    case .timestamp: "timestamptz"
    case .numeric: "numeric"
    case .uuid: "uuid"
    case .json: "jsonb"
    }
  }
}
