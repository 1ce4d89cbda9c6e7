/** Names of the standard service tier; `auto` is the tier that the provider chooses. */
export const STANDARD_TIERS: ReadonlySet<string> = new Set([
  'standard',
  'default',
  'auto',
  'on_demand',
  'standard_only',
  'unspecified',
]);
