/** Resolved routing settings: configured models, aliases and defaults. */

import { nearest } from '../core/nearest.ts';
import type { EndpointEntry, ProviderConfig, RoutingConfig } from './resolved.ts';
import { ROUTING_DEFAULTS } from './routing-schema.ts';
import type { ConfigFile } from './schema.ts';
import { formatDuration, parseDuration } from './units.ts';

type Fault = (path: string, message: string) => void;

export function resolveRouting(file: ConfigFile, providers: readonly ProviderConfig[], report: Fault): RoutingConfig {
  const { sort, fallback_models: fallbackModels, bare_names: bareNames, cooldown } = file.routing ?? {};
  const aliases = new Map(Object.entries(file.aliases ?? {}));
  const providerIds = new Set(providers.map(({ id }) => id));
  for (const [name, target] of aliases) {
    if (aliases.has(target)) report(`aliases.${name}`, `must stand for a model; "${target}" is an alias too`);
  }
  for (const [index, id] of (bareNames ?? []).entries())
    checkProvider(id, providerIds, (message) => report(`routing.bare_names[${index}]`, message));
  return {
    models: new Map(
      Object.entries(file.models ?? {}).map(([name, { endpoints }]) => [
        name,
        endpoints.map((entry, index) => {
          checkProvider(entry.provider, providerIds, (message) =>
            report(`models.${name}.endpoints[${index}].provider`, message),
          );
          return resolveEndpoint(entry);
        }),
      ]),
    ),
    aliases,
    bareNames: bareNames ?? [],
    defaultModel: file.default_model ?? undefined,
    sort: sort ?? undefined,
    fallbackModels: fallbackModels ?? [],
    cooldown: parseDuration(cooldown ?? ROUTING_DEFAULTS.cooldown) as number,
  };
}

type EndpointFields = NonNullable<ConfigFile['models']>[string]['endpoints'][number];

function checkProvider(id: string, known: ReadonlySet<string>, report: (message: string) => void): void {
  if (known.has(id)) return;
  const ids = [...known];
  const guess = nearest(id, ids);
  report(
    `"${id}" is not a configured provider${guess ? `; did you mean ${guess}?` : ''}; there are: ${ids.join(', ')}`,
  );
}

function resolveEndpoint({
  provider,
  model,
  priority,
  weight,
  pricing,
  data_policy: data,
  quantization,
}: EndpointFields): EndpointEntry {
  return {
    provider,
    model,
    priority: priority ?? ROUTING_DEFAULTS.priority,
    weight: weight ?? undefined,
    pricing: pricing ?? undefined,
    facts: {
      zdr: data?.zdr ?? undefined,
      training: data?.training ?? undefined,
      distillable: data?.distillable ?? undefined,
      quantization: quantization ?? undefined,
    },
  };
}

/** The sections of a configuration file with the same meaning. */
export function describeRouting({ models, aliases, defaultModel, ...rest }: RoutingConfig): object {
  return {
    models: Object.fromEntries(
      [...models].map(([name, entries]) => [name, { endpoints: entries.map(describeEndpoint) }]),
    ),
    aliases: Object.fromEntries(aliases),
    default_model: defaultModel,
    routing: {
      sort: rest.sort,
      fallback_models: rest.fallbackModels,
      bare_names: rest.bareNames,
      cooldown: formatDuration(rest.cooldown),
    },
  };
}

function describeEndpoint({ facts, ...entry }: EndpointEntry): object {
  const { quantization, ...data } = facts;
  const known = Object.values(data).some((value) => value !== undefined);
  return { ...entry, data_policy: known ? data : undefined, quantization };
}
