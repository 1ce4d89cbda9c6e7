/** What servers of open models need: chat templates want one system turn at the start, and `null` is no absence to them. */

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
