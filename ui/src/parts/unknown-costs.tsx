/** Says of which models the cost is not in a sum, because they have no price. */

const MAX_NAMES = 5;

export function UnknownCosts({ models }: { models: readonly string[] }) {
  if (models.length === 0) return null;
  const more = models.length - MAX_NAMES;
  return (
    <p className="text-warn">
      {models.length === 1 ? 'The cost of one model' : `The cost of ${models.length} models`} is unknown and not in the
      sums, because nothing says its price: {models.slice(0, MAX_NAMES).join(', ')}
      {more > 0 && ` and ${more} more`}.
    </p>
  );
}
