/** Mark of a cost that is an estimate, because token counts are. */

export function EstimateMark({ isPart = false }: { isPart?: boolean }) {
  return <span title={`Token counts ${isPart ? 'of a part ' : ''}are estimates`}> ~</span>;
}

/** Of a sum that has a part of which this is the cost in USD. */
export function PartEstimateMark({ cost }: { cost: string }) {
  return Number(cost) > 0 && <EstimateMark isPart />;
}
