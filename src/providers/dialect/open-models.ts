/** Dialect of servers for open models: one system turn at the start, no nulls. */

import { allowedTools, reasoningAsEffort, withoutNulls } from './fields.ts';
import { mergeSystemTurns, withoutImageDetail } from './messages.ts';
import { applyRules } from './rules.ts';
import type { DialectStep } from './step.ts';

export const openModels: readonly DialectStep[] = [
  withoutNulls,
  mergeSystemTurns,
  withoutImageDetail,
  reasoningAsEffort,
  allowedTools,
  applyRules,
];
