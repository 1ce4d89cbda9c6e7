/** Keeps the number of a label's values small, whatever the world sends. */

/** What stands for all values beyond the limit. */
export const OTHER = 'other';

/** The value itself, for the first `limit` different ones. */
export function createBounded(limit: number): (value: string) => string {
  const known = new Set<string>();
  return (value) => {
    if (known.has(value)) return value;
    if (known.size >= limit) return OTHER;
    known.add(value);
    return value;
  };
}
