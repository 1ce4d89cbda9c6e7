/** Cost of a response in USD, as shown in its usage. */

import type { Usage } from '../../core/chat.ts';
import { decimalOf } from '../../core/money.ts';
import type { Cost } from '../../core/operation.ts';
import type { ResponseContext } from './context.ts';

const NO_OUTPUT = { output: 0, reasoning: undefined, audioOutput: undefined, reportedCost: undefined };

/** Undefined without a known price. `finish` is the upstream's finish reason; absent before the end. */
export function costOf(
  usage: Usage,
  finish: string | undefined,
  context: Pick<ResponseContext, 'charge'>,
): Cost | undefined {
  const total = context.charge({ usage, finish });
  if (total === undefined) return undefined;
  const rounds = usage.rounds?.map((round) => ({ ...round, ...NO_OUTPUT }));
  const input = context.charge({ usage: { ...usage, ...NO_OUTPUT, rounds }, finish: finish ?? 'stop' }) ?? 0n;
  return { total: dollars(total), input: dollars(input) };
}

function dollars(cost: bigint): number {
  return Number(decimalOf(cost));
}
