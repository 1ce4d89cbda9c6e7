/** Settings of a LiteLLM proxy (`config.yaml`) in this gateway's configuration, and those that have no equal here. */

import { isObject, type Json } from '../core/json/json.ts';
import {
  durationOf,
  type ImportedEndpoint,
  type ImportedSettings,
  modelNames,
  type Note,
} from './imported-settings.ts';
import { adviceOf, readDeployments } from './litellm-deployments.ts';
import { secretReference } from './litellm-references.ts';

const SORTS: Record<string, string | undefined> = {
  'simple-shuffle': undefined,
  'latency-based-routing': 'latency',
  'cost-based-routing': 'price',
};
const SECTIONS = ['model_list', 'litellm_settings', 'router_settings', 'general_settings'];

export function importLiteLlm(file: Json): ImportedSettings {
  const notes: ImportedSettings['notes'] = [];
  const note: Note = (path, advice) => void notes.push({ path, advice });
  const [litellm, router, general] = SECTIONS.slice(1).map((name) => (isObject(file?.[name]) ? file[name] : {})) as [
    Json,
    Json,
    Json,
  ];
  const { providers, groups } = readDeployments(file?.model_list, note);
  addFallbacks(groups, litellm.fallbacks, (name) => note('litellm_settings.fallbacks', unknownGroup(name)));
  addFallbacks(groups, router.fallbacks, (name) => note('router_settings.fallbacks', unknownGroup(name)));
  const names = modelNames(groups.keys());
  const aliases = aliasesOf(names, router.model_group_alias, note);
  const routing = routingOf(router, note);
  const config = {
    ...deadlinesOf(litellm.request_timeout, router.timeout, note),
    ...(general.master_key !== undefined && { admin: { token: adminToken(general.master_key, note) } }),
    providers: Object.fromEntries(providers),
    models: Object.fromEntries([...groups].map(([group, endpoints]) => [names.get(group), { endpoints }])),
    ...(Object.keys(aliases).length > 0 && { aliases }),
    ...(Object.keys(routing).length > 0 && { routing }),
  };
  noteOthers('litellm_settings', litellm, { known: ['fallbacks', 'request_timeout'], note });
  const known = ['fallbacks', 'routing_strategy', 'model_group_alias', 'timeout', 'cooldown_time'];
  noteOthers('router_settings', router, { known, note });
  noteOthers('general_settings', general, { known: ['master_key'], note });
  for (const name of Object.keys(file ?? {})) if (!SECTIONS.includes(name)) note(name, adviceOf(name));
  return { config, notes };
}

function unknownGroup(name: string): string {
  return `names "${name}", which is no model_name of the list`;
}

function adminToken(value: unknown, note: Note): string {
  return secretReference(value, 'POLYGATE_ADMIN_TOKEN', (advice) => note('general_settings.master_key', advice));
}

/** Turns fallbacks of a group into endpoints of its own, of a lower priority. */
function addFallbacks(
  groups: Map<string, ImportedEndpoint[]>,
  value: unknown,
  onUnknown: (name: string) => void,
): void {
  const original = new Map(groups);
  for (const [group, names] of (Array.isArray(value) ? value : []).flatMap((entry) => Object.entries(entry ?? {}))) {
    const own = groups.get(group);
    if (!own) {
      onUnknown(group);
      continue;
    }
    for (const name of Array.isArray(names) ? names.map(String) : []) {
      const others = original.get(name);
      if (!others) {
        onUnknown(name);
        continue;
      }
      const last = Math.max(...own.map(({ priority = 0 }) => priority));
      own.push(...others.map((endpoint) => ({ ...endpoint, priority: last + 1 + (endpoint.priority ?? 0) })));
    }
  }
}

function aliasesOf(names: ReadonlyMap<string, string>, value: unknown, note: Note): Record<string, string> {
  const aliases: Record<string, string> = {};
  for (const [group, name] of names) if (name !== group) aliases[group] = name;
  for (const [alias, target] of Object.entries(isObject(value) ? value : {})) {
    const group = isObject(target) ? target.model : target;
    const name = names.get(String(group));
    if (name !== undefined) aliases[alias] = name;
    else note(`router_settings.model_group_alias.${alias}`, unknownGroup(String(group)));
  }
  return aliases;
}

function routingOf({ routing_strategy: strategy, cooldown_time: seconds }: Json, note: Note): Json {
  const isKnown = strategy === undefined || Object.hasOwn(SORTS, String(strategy));
  if (!isKnown)
    note('router_settings.routing_strategy', `"${strategy}" has no equal; endpoints are chosen by priority and weight`);
  const sort = isKnown ? SORTS[String(strategy)] : undefined;
  const cooldown = readSeconds(seconds, 'router_settings.cooldown_time', note);
  return { ...(sort && { sort }), ...(cooldown && { cooldown }) };
}

/** That of the requests comes before that of the router. */
function deadlinesOf(request: unknown, router: unknown, note: Note): Json {
  const total =
    request == null
      ? readSeconds(router, 'router_settings.timeout', note)
      : readSeconds(request, 'litellm_settings.request_timeout', note);
  return total === undefined ? {} : { server: { deadlines: { total } } };
}

function readSeconds(seconds: unknown, path: string, note: Note): string | undefined {
  if (seconds == null) return undefined;
  const duration = durationOf(seconds);
  if (duration === undefined) note(path, `"${seconds}" is no number of seconds up to 99 hours`);
  return duration;
}

function noteOthers(section: string, settings: Json, { known, note }: { known: string[]; note: Note }): void {
  for (const name of Object.keys(settings)) if (!known.includes(name)) note(`${section}.${name}`, adviceOf(name));
}
