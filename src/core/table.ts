/** Tables that are asked for words which others send. */

/** What stands under a name, if it is one of the table's own: `constructor` and the like are in every object. */
export function lookUp<Value>(table: Readonly<Record<string, Value>>, name: unknown): Value | undefined {
  return typeof name === 'string' && Object.hasOwn(table, name) ? table[name] : undefined;
}
