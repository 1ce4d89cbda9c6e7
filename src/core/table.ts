/** Safe lookup in a table by untrusted names. */

/** Own properties only: inherited names such as `constructor` are not found. */
export function lookUp<Value>(table: Readonly<Record<string, Value>>, name: unknown): Value | undefined {
  return typeof name === 'string' && Object.hasOwn(table, name) ? table[name] : undefined;
}
