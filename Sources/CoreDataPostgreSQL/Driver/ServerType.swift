/// A type of values in the server's catalogue, by its number there.
///
/// Source: pg_type.dat of PostgreSQL 15. These numbers never change.
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
