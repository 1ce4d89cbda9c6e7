/** Names of service tiers, and of the processing within a region, which providers sell at a price of its own in every tier. */

/** Names of the standard service tier; `auto` is the tier that the provider chooses. */
export const STANDARD_TIERS: ReadonlySet<string> = new Set([
  'standard',
  'default',
  'auto',
  'on_demand',
  'standard_only',
  'unspecified',
]);

/** Tier of a request that is processed within a region: by itself in the standard tier, or behind the name of another one. */
export const REGIONAL = 'regional';
const SUFFIX = `.${REGIONAL}`;

/** Whether the prices of a tier are not those of the standard one. */
export function isOtherTier(tier: string | undefined): tier is string {
  return Boolean(tier) && !STANDARD_TIERS.has(tier as string);
}

/** Whether a tier is `regional`, or ends with `.regional`. */
export function isRegional(tier: string | undefined): boolean {
  return tier === REGIONAL || tier?.endsWith(SUFFIX) === true;
}

/** The tier without its region. */
export function withoutRegion(tier: string | undefined): string | undefined {
  if (tier === REGIONAL) return undefined;
  return tier?.endsWith(SUFFIX) ? tier.slice(0, -SUFFIX.length) : tier;
}

/** A tier, named without a region, within one if it is regional. */
export function tierWithRegion(tier: string | undefined, regional: boolean): string | undefined {
  if (!regional) return tier;
  return isOtherTier(tier) ? tier + SUFFIX : REGIONAL;
}

/** The tier of a body to which options are added. */
export function joinTiers(own: string | undefined, added: string | undefined): string | undefined {
  const name = withoutRegion(added);
  const tier = isOtherTier(name) ? name : withoutRegion(own);
  return tierWithRegion(tier, isRegional(own) || isRegional(added));
}
