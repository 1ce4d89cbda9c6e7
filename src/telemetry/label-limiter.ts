/** Label limiter: bounds the number of different values of a metric label. */

/** Replaces all values beyond the limit. */
const OTHER_LABEL = 'other';

/** Returns the value itself for the first `limit` different values. */
export function createLabelLimiter(limit: number): (value: string) => string {
  const known = new Set<string>();
  return (value) => {
    if (known.has(value)) return value;
    if (known.size >= limit) return OTHER_LABEL;
    known.add(value);
    return value;
  };
}
