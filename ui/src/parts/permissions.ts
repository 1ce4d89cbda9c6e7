/** Permissions of a key, as its page and the panel of operators show it. */

import type { Limits } from '../keys.ts';
import { limitWords } from './limits.ts';

export interface Permissions {
  models: string[] | null;
  surfaces: string[] | null;
  read_only: boolean;
  cidrs: string[] | null;
  /** By globs of models. */
  model_limits: Record<string, Limits>;
}

export function permissionRows({ models, surfaces, read_only: isReadOnly, cidrs }: Permissions): [string, string][] {
  return [
    ['Models', models?.join(', ') ?? 'all'],
    ['Surfaces', surfaces?.join(', ') ?? 'all'],
    ['Read only', isReadOnly ? 'yes' : 'no'],
    ['Addresses', cidrs?.join(', ') ?? 'any'],
  ];
}

export function modelLimitRows({ model_limits: limits }: Permissions): [string, string][] {
  return Object.entries(limits).map(([glob, one]) => [glob, limitWords(one)]);
}
