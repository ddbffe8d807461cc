internal import CSQLite

extension SQLiteConnection {
  /// SQLite keeps the boxed function and frees it with the connection, or when another one of the name takes its place.
  func register(_ function: SQLFunction) {
    sqlite3_create_function_v2(
      handle, function.name, Int32(function.argumentCount),
      SQLITE_UTF8 | (function.isDeterministic ? SQLITE_DETERMINISTIC : 0),
      Unmanaged.passRetained(Box(RegisteredFunction(function: function, interruption: interruption))).toOpaque(),
      { context, count, arguments in
        let registered = Unmanaged<Box<RegisteredFunction>>.fromOpaque(sqlite3_user_data(context)).takeUnretainedValue()
        let (function, interruption) = (registered.value.function, registered.value.interruption)
        let values = (0..<Int(count)).map { SQLiteValue(arguments?[$0]) }
        let requests = interruption.count
        if let value = function.evaluate(values, { interruption.isRequested(since: requests) }) {
          setResult(value, of: context)
        } else {
          sqlite3_result_error_code(context, SQLITE_INTERRUPT)
        }
      }, nil, nil, { Unmanaged<Box<RegisteredFunction>>.fromOpaque($0!).release() })
  }

  /// SQLite calls the step for each row of a group and the end once; the values in between hang on memory of SQLite's
  /// own, which it zeroes for each group. A group without values has no such memory: `evaluate` gets an empty list.
  func register(_ aggregate: SQLAggregate) {
    sqlite3_create_function_v2(
      handle, aggregate.name, 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
      Unmanaged.passRetained(Box(aggregate)).toOpaque(), nil,
      { context, _, arguments in
        let value = SQLiteValue(arguments?[0])
        guard value != .null, let place = collectedValues(context, Int32(MemoryLayout<UnsafeRawPointer>.size)) else {
          return
        }
        if let valuesPointer = place.pointee {
          Unmanaged<CollectedValues>.fromOpaque(valuesPointer).takeUnretainedValue().values.append(value)
        } else {
          place.pointee = UnsafeRawPointer(Unmanaged.passRetained(CollectedValues(value)).toOpaque())
        }
      },
      { context in
        let aggregate = Unmanaged<Box<SQLAggregate>>.fromOpaque(sqlite3_user_data(context)).takeUnretainedValue().value
        // There is no memory if no row had a value.
        let collected = collectedValues(context, 0)?.pointee.map {
          Unmanaged<CollectedValues>.fromOpaque($0).takeRetainedValue().values
        }
        setResult(aggregate.evaluate(collected ?? []), of: context)
      }, { Unmanaged<Box<SQLAggregate>>.fromOpaque($0!).release() })
  }

  /// SQLite calls it for each comparison of a sort: n log n times. `localizedStandardCompare:` of 100,000 titles is
  /// some 1.7 million calls.
  func register(_ collation: SQLCollation) {
    sqlite3_create_collation_v2(
      handle, collation.name, SQLITE_UTF8, Unmanaged.passRetained(Box(collation)).toOpaque(),
      { context, leftCount, left, rightCount, right in
        let collation = Unmanaged<Box<SQLCollation>>.fromOpaque(context!).takeUnretainedValue().value
        let first = String(decoding: UnsafeRawBufferPointer(start: left, count: Int(leftCount)), as: UTF8.self)
        let second = String(decoding: UnsafeRawBufferPointer(start: right, count: Int(rightCount)), as: UTF8.self)
        return Int32(collation.compare(first, second).rawValue)
      }, { Unmanaged<Box<SQLCollation>>.fromOpaque($0!).release() })
  }
}

private struct RegisteredFunction: Sendable {
  let function: SQLFunction
  let interruption: StatementInterruption
}

/// The values that an aggregate function has received so far.
private final class CollectedValues {
  var values: [SQLiteValue]
  init(_ first: SQLiteValue) { values = [first] }
}

/// SQLite's memory for the pointer of one run of an aggregate function: zeroed at first; nil for a size of 0 before
/// that.
///
/// Source: https://www.sqlite.org/c3ref/aggregate_context.html
private func collectedValues(_ context: OpaquePointer?, _ size: Int32) -> UnsafeMutablePointer<UnsafeRawPointer?>? {
  sqlite3_aggregate_context(context, size)?.assumingMemoryBound(to: UnsafeRawPointer?.self)
}

/// A value behind a pointer that C code carries.
private final class Box<Value: Sendable>: Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}

private func setResult(_ value: SQLiteValue, of context: OpaquePointer?) {
  let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
  switch value {
  case .null, .encoded: sqlite3_result_null(context)
  case .integer(let integer): sqlite3_result_int64(context, integer)
  case .real(let real): sqlite3_result_double(context, real)
  case .text(let text): sqlite3_result_text(context, text, -1, transient)
  case .blob(let data):
    data.withUnsafeBytes { sqlite3_result_blob(context, $0.baseAddress, Int32($0.count), transient) }
  }
}
