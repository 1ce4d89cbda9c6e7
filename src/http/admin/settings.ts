/** Key settings: conversion between the fields of the API and the stored form. */

import { GatewayError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import { decimalOf, moneyOf } from '../../core/money.ts';
import { defined } from '../../core/plain-objects.ts';
import { isRange } from '../../net/ip-address.ts';
import type { KeySettings, Limits, Period } from '../../records/key-settings.ts';
import { metadataProblems, tagProblems } from '../../records/tags.ts';
import type { Spending } from '../../usage/spending.ts';
import type { KeyChange } from './schema.ts';

export const RESETS: Record<Period, string | null> = { day: 'daily', week: 'weekly', month: 'monthly', total: null };

const NO_BUDGETS = { day: null, week: null, month: null, total: null };

/** Patch of the stored settings; null removes one. `spending` is the current spending of the key. Throws `invalid_request`. */
export function settingsPatch(body: KeyChange, spending?: Spending): Json {
  const {
    owner,
    tags,
    metadata,
    models,
    surfaces,
    read_only: readOnly,
    store_responses: storeResponses,
    cidrs,
    limits,
    model_limits: modelLimits,
  } = body;
  for (const [index, range] of (cidrs ?? []).entries()) {
    if (!isRange(range)) throw invalid(`cidrs[${index}]`, 'must be an address range such as 10.0.0.0/8 or fd00::/8');
  }
  for (const { path, message } of [...tagProblems(tags), ...metadataProblems(metadata)]) throw invalid(path, message);
  return defined({
    owner,
    tags,
    metadata,
    models,
    surfaces,
    readOnly,
    storeResponses,
    cidrs,
    budgets: budgetsPatch(body, spending),
    limits: limits && limitsPatch(limits),
    modelLimits:
      modelLimits &&
      Object.fromEntries(Object.entries(modelLimits).map(([glob, one]) => [glob, one && limitsPatch(one)])),
  });
}

export function encodeSettings(settings: KeySettings): Json {
  const { owner, tags, metadata, storeResponses, limits, budgets } = settings;
  return {
    owner: owner ?? null,
    tags: tags ?? {},
    metadata: metadata ?? {},
    ...encodePermissions(settings),
    store_responses: storeResponses ?? null,
    limits: encodeLimits(limits ?? {}),
    budgets: budgets ?? {},
  };
}

/** Encodes the permissions of a key, apart from limits and budgets for requests of all models. */
export function encodePermissions({ models, surfaces, readOnly, cidrs, modelLimits }: KeySettings): Json {
  const perModel = Object.entries(modelLimits ?? {}).map(([glob, one]) => [glob, encodeLimits(one)]);
  return {
    models: models ?? null,
    surfaces: surfaces ?? null,
    read_only: readOnly ?? false,
    cidrs: cidrs ?? null,
    model_limits: Object.fromEntries(perModel),
  };
}

/** `limit` replaces all budgets; `budgets` sets several. */
function budgetsPatch(body: KeyChange, spending: Spending | undefined): Json {
  const { budgets, limit, limit_reset: reset } = body;
  if (limit === undefined && reset === undefined) return budgets;
  if (budgets !== undefined) throw invalid('budgets', 'must not come with limit or limit_reset, which stand for it');
  if (limit === null) return null;
  const usd = limit ?? spending?.limit;
  if (usd === undefined) throw invalid('limit', 'is required where limit_reset is set');
  const period = reset === undefined ? (spending?.period ?? 'total') : periodOf(reset);
  return { ...NO_BUDGETS, [period]: typeof usd === 'bigint' ? decimalOf(usd) : decimalOf(moneyOf(String(usd))) };
}

function periodOf(reset: string | null): Period {
  const periods = Object.keys(RESETS) as Period[];
  return periods.find((period) => RESETS[period] === reset) ?? 'total';
}

function limitsPatch(limits: Json): Json {
  if (!isObject(limits)) return limits;
  return defined({
    requestsPerMinute: limits.requests_per_minute,
    tokensPerMinute: limits.tokens_per_minute,
    concurrentRequests: limits.concurrent_requests,
  });
}

export function encodeLimits({ requestsPerMinute, tokensPerMinute, concurrentRequests }: Limits): Json {
  return defined({
    requests_per_minute: requestsPerMinute,
    tokens_per_minute: tokensPerMinute,
    concurrent_requests: concurrentRequests,
  });
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError('invalid_request', `${param} ${message}.`, { param });
}
