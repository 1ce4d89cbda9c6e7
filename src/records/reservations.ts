/** Reservations of running requests in budgets, and their text, by which gateways on a store tell each other. */

import type { Period } from './key-settings.ts';

/** One period of a budget. */
export interface BudgetPeriod {
  /** A key or a tag, by its name as a subject. */
  subject: string;
  period: Period;
  /** Unix milliseconds. */
  startsAt: number;
}

/** Reservations of running requests of one gateway in a budget. */
export interface ReservedBudget extends BudgetPeriod {
  /** In 1e-12 USD, more than 0. */
  amount: bigint;
}

export interface ReservedAmount {
  /** In 1e-12 USD. */
  amount: bigint;
  /** Whether every gateway reported its reservations; otherwise the amount is a minimum. */
  isComplete: boolean;
}

/** Reservations of running requests of some gateways. */
export interface Reservations {
  of(budget: BudgetPeriod): ReservedAmount;
}

/** Maximum of reported budgets, about 80 bytes each: those with the largest amounts. */
const MAX_BUDGETS = 1000;

/** Version of the text format; other values are from later versions. */
const FORMAT_VERSION = 1;

/** Text of bounded length; empty for none. */
export function encodeReservations(reservations: readonly ReservedBudget[]): string {
  if (reservations.length === 0) return '';
  const isWhole = reservations.length <= MAX_BUDGETS;
  const told = isWhole ? reservations : reservations.toSorted(byAmount).slice(0, MAX_BUDGETS);
  const rows = told.map((one) => [budgetName(one), String(one.amount)]);
  return JSON.stringify({ form: FORMAT_VERSION, whole: isWhole, rows });
}

function byAmount(one: ReservedBudget, other: ReservedBudget): number {
  return one.amount > other.amount ? -1 : 1;
}

/** Decodes the texts of several gateways. Null and unknown formats count as a gateway that does not tell. */
export function decodeReservations(texts: readonly (string | null)[]): Reservations {
  const told = texts.map(decode);
  return {
    of(budget) {
      const name = budgetName(budget);
      let amount = 0n;
      let isComplete = true;
      for (const { amounts, isWhole } of told) {
        const own = amounts.get(name);
        amount += own ?? 0n;
        isComplete &&= isWhole || own !== undefined;
      }
      return { amount, isComplete };
    },
  };
}

interface ToldText {
  form: number;
  whole: boolean;
  rows: [name: string, amount: string][];
}

interface Told {
  amounts: ReadonlyMap<string, bigint>;
  isWhole: boolean;
}

const NOTHING: Told = { amounts: new Map(), isWhole: true };
const UNKNOWN: Told = { amounts: new Map(), isWhole: false };

function decode(text: string | null): Told {
  if (text === '') return NOTHING;
  const { form, whole: isWhole, rows } = JSON.parse(text ?? '{}') as ToldText;
  if (form !== FORMAT_VERSION) return UNKNOWN;
  return { amounts: new Map(rows.map(([name, amount]) => [name, BigInt(amount)])), isWhole };
}

/** Different for each subject and period. */
export function budgetName({ subject, period, startsAt }: BudgetPeriod): string {
  return `${subject} ${period} ${startsAt}`;
}
