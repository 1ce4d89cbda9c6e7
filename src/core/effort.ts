/** Reasoning effort: conversion between levels and token budgets. A level is a share of the maximum output. */

import type { Effort } from './chat.ts';

/** Share of the maximum output for each effort, in ascending order. */
const SHARES: readonly (readonly [Effort, number])[] = [
  ['none', 0],
  ['minimal', 0.02],
  ['low', 0.1],
  ['medium', 0.3],
  ['high', 0.6],
  ['xhigh', 0.9],
  ['max', 1],
];

/** Efforts in ascending order, from `none` to `max`. */
export const EFFORTS: readonly Effort[] = SHARES.map(([effort]) => effort);

/** The highest allowed effort up to `wanted`, else the lowest; `none` only if wanted. Undefined without such an effort. */
export function nearestEffort(wanted: Effort, allowed: readonly Effort[]): Effort | undefined {
  const usable = EFFORTS.filter((effort) => allowed.includes(effort) && (effort !== 'none' || wanted === 'none'));
  return usable.findLast((effort) => EFFORTS.indexOf(effort) <= EFFORTS.indexOf(wanted)) ?? usable[0];
}

/** The lowest effort that covers `budget` tokens. */
export function effortOf(budget: number, largestOutput: number): Effort {
  return SHARES.find(([, share]) => budget <= share * largestOutput)?.[0] ?? 'max';
}

/** Reasoning budget of an effort in tokens. */
export function budgetOf(effort: Effort, largestOutput: number): number {
  const [, share] = SHARES.find(([name]) => name === effort) ?? ['max', 1];
  return Math.floor(share * largestOutput);
}
