/** Handlers of the admin API for models: their endpoints with statistics, the keys that used them, and the settings that name them. */

import type { Json } from '../../core/json/json.ts';
import type { CatalogModel } from '../../core/model.ts';
import { decimalOf, moneyOf } from '../../core/money.ts';
import { type EndpointHealth, endpointHealth } from '../../routing/endpoint-health.ts';
import { hasPrice, type RoutedEndpoint } from '../../routing/model-directory.ts';
import type { UseRow } from '../../usage/use-groups.ts';
import type { UseQuery } from '../../usage/use-query.ts';
import { reportUse } from '../../usage/use-report.ts';
import { splitAtLast } from './endpoint-rows.ts';
import { flag, PAGES, whole } from './query.ts';
import type { AdminOptions, AdminRequest } from './request.ts';
import type { AdminHandlers } from './routes.ts';

const HOUR_MS = 3_600_000;
/** Period in which keys are looked for that used a model. */
const USED_LATELY_MS = 30 * 24 * HOUR_MS;
const MAX_USERS = 20;
/** Settings that are shown of a model. */
const MAX_SETTINGS = 50;

/** Health of the credentials of an endpoint, by `<provider>/<upstream model>`. */
type Measured = ReadonlyMap<string, EndpointHealth[]>;

export function createModelHandlers(
  options: AdminOptions,
): Pick<AdminHandlers, 'ModelList' | 'ModelStatistics' | 'PriceChanges'> {
  const { models, routing, store, keys, operation, clock } = options;

  async function list({ query }: AdminRequest): Promise<Json> {
    const limit = whole(query, 'limit', PAGES.models);
    const [after, provider, search, endpoint, only] = ['after', 'provider', 'search', 'endpoint', 'id'].map(
      (name) => query.get(name) ?? undefined,
    );
    const keepsNothing = flag(query, 'zero_retention');
    const words = search?.toLowerCase();
    const catalog = models().catalog();
    const listed = catalog
      .all()
      .filter((model) => provider === undefined || model.provider === provider)
      .filter(({ id }) => only === undefined || id === only)
      .filter(({ id, name }) => words === undefined || `${id} ${name}`.toLowerCase().includes(words))
      .filter((model) => endpoint === undefined || routesOf(model).some((route) => nameOf(route) === endpoint))
      .filter((model) => !keepsNothing || routesOf(model).some(({ facts }) => facts.zdr));
    const page = catalog.page(listed, { limit, ...(after !== undefined && { after }) });
    const measured = measuredEndpoints();
    const data = page.models.map((model) => encodeModel(model, measured));
    const more = only === undefined ? [] : await Promise.all(page.models.map(detailsOf));
    return {
      data: data.map((model, index) => ({ ...model, ...more[index] })),
      total: listed.length,
      next: page.more ? (page.models.at(-1)?.id ?? null) : null,
    };
  }

  /** Endpoints of a model that is configured; else the one that it has by itself. */
  function routesOf({ id, provider, upstreamId }: CatalogModel): readonly RoutedEndpoint[] {
    return models().routes.models.get(id) ?? [{ provider, model: upstreamId, priority: 0, facts: {} }];
  }

  function aliasesOf(id: string): string[] {
    return [...models().routes.aliases].flatMap(([alias, model]) => (model === id ? [alias] : []));
  }

  function measuredEndpoints(): Measured {
    return Map.groupBy(endpointHealth(routing), ({ id }) => splitAtLast(id, '#')[0] ?? '');
  }

  function encodeModel(model: CatalogModel, measured: Measured): Record<string, Json> {
    const { id, provider, upstreamId, name, pricing, rules, ...facts } = model;
    return {
      id,
      provider,
      upstream_id: upstreamId,
      name,
      pricing,
      rules: rules as Json,
      context_length: facts.contextLength,
      max_output: facts.maxOutput,
      input_modalities: facts.inputModalities,
      output_modalities: facts.outputModalities,
      supported_parameters: facts.supportedParameters,
      endpoints: routesOf(model).map((route) => encodeRoute(route, measured)),
      aliases: aliasesOf(id),
    };
  }

  /** Models whose endpoints answered lately, which is what it costs to read them. */
  async function statistics(): Promise<Json> {
    const measured = measuredEndpoints();
    const data = models()
      .catalog()
      .all()
      .flatMap((model) => {
        const found = encodeStatistics(routesOf(model).flatMap((route) => measured.get(nameOf(route)) ?? []));
        return found ? [{ id: model.id, ...found }] : [];
      });
    return { data };
  }

  async function detailsOf(model: CatalogModel): Promise<Record<string, Json>> {
    const to = Math.ceil(clock.now() / HOUR_MS) * HOUR_MS;
    const span = { from: Math.max(0, to - USED_LATELY_MS), to };
    const users = await usersOf(routesOf(model).map(nameOf), span);
    return {
      users: users.slice(0, MAX_USERS),
      users_total: users.length,
      users_from: new Date(span.from).toISOString(),
      users_to: new Date(span.to).toISOString(),
      configured: operation.settingsOfModel(model.id).slice(0, MAX_SETTINGS),
    };
  }

  /** Keys that used endpoints in a time, most requests first. Cost is null where a price is not known. */
  async function usersOf(endpoints: readonly string[], span: { from: number; to: number }): Promise<Json[]> {
    const directory = models();
    const names = await keys.names();
    const context = { names, hasPrice: (model: string) => hasPrice(directory, model) };
    const query: Omit<UseQuery, 'filter'> = {
      now: clock.now(),
      ...span,
      zone: 'UTC',
      by: ['key'],
      subgroup: undefined,
      top: undefined,
      topBy: 'cost',
      compare: undefined,
    };
    const reports = await Promise.all(
      [...new Set(endpoints)].map((model) => reportUse(store, { ...query, filter: { model } }, context)),
    );
    const groups = Map.groupBy(
      reports.flatMap(({ data }) => data),
      ({ key }) => String(key),
    );
    return [...groups]
      .map(([key, rows]) => ({
        key,
        key_name: rows[0]?.key_name ?? null,
        requests: rows.reduce((sum, { requests }) => sum + requests, 0),
        cost: costOf(rows),
      }))
      .toSorted((one, other) => other.requests - one.requests);
  }

  return { ModelList: list, ModelStatistics: statistics, PriceChanges: () => operation.priceChanges() };
}

function costOf(rows: readonly UseRow[]): string | null {
  let sum = 0n;
  for (const { cost, unpriced_tokens } of rows) {
    if (cost === null || unpriced_tokens > 0) return null;
    sum += moneyOf(cost);
  }
  return decimalOf(sum);
}

const nameOf = ({ provider, model }: Pick<RoutedEndpoint, 'provider' | 'model'>): string => `${provider}/${model}`;

function encodeRoute(route: RoutedEndpoint, measured: Measured): Json {
  const endpoint = nameOf(route);
  return {
    endpoint,
    priority: route.priority,
    zero_retention: route.facts.zdr ?? null,
    statistics: encodeStatistics(measured.get(endpoint) ?? []),
  };
}

/** Medians of the last five minutes; of several credentials, or endpoints, the one in the middle. */
function encodeStatistics(health: readonly EndpointHealth[]): Record<string, Json> | null {
  const timings = health.flatMap(({ streamed, whole: plain }) => [streamed, plain].filter((one) => one !== undefined));
  const firstByte = middle(timings.map(({ firstByte: { p50 } }) => p50));
  if (firstByte === undefined) return null;
  const throughput = middle(timings.flatMap((one) => one.throughput?.p50 ?? []));
  return { first_byte_seconds: firstByte, tokens_per_second: throughput ?? null };
}

function middle(values: number[]): number | undefined {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)];
}
