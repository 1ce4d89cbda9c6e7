/** What the page of use groups and filters by, as its address has it. */

export const PLAIN_DIMENSIONS = ['key', 'model', 'provider', 'protocol', 'status'] as const;
/** Dimensions of tags are named `tag:<name>`. */
export type Dimension = (typeof PLAIN_DIMENSIONS)[number] | `tag:${string}`;

/** Only use with these values; a tag is `name=value`. */
export interface UseFilters {
  key?: string | undefined;
  model?: string | undefined;
  provider?: string | undefined;
  protocol?: string | undefined;
  status?: string | undefined;
  tag?: string | undefined;
}

export function dimensionOf(text: unknown): Dimension | undefined {
  if (typeof text !== 'string') return undefined;
  if (/^tag:[a-z][a-z0-9_-]*$/.test(text)) return text as Dimension;
  return PLAIN_DIMENSIONS.find((name) => name === text);
}
