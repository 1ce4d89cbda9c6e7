/** Keeps the number of a label's values small, whatever the world sends. */

/** What stands for all values beyond the limit. */
export const OTHER_LABEL = 'other';

/** The value itself, for the first `limit` different ones. */
export function createLabelLimiter(limit: number): (value: string) => string {
  const known = new Set<string>();
  return (value) => {
    if (known.has(value)) return value;
    if (known.size >= limit) return OTHER_LABEL;
    known.add(value);
    return value;
  };
}
