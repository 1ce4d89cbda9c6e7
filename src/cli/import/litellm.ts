/** Settings of a LiteLLM proxy (`config.yaml`) in this gateway's configuration, and those that have no equal here. */

import { isObject, type Json } from '../../core/json/json.ts';
import { ADVICE, readDeployments, usualVariables } from './litellm-deployments.ts';
import { secretReference, variablesOf } from './litellm-references.ts';
import {
  adviceOf,
  createSecretVariables,
  durationOf,
  type ImportedEndpoint,
  type ImportedSettings,
  modelNames,
  type Note,
  type SecretVariable,
} from './settings.ts';

const SORTS: Record<string, string | undefined> = {
  'simple-shuffle': undefined,
  'latency-based-routing': 'latency',
  'cost-based-routing': 'price',
};
const FALLBACK_RULE = 'must be a list of groups, each with a list of others';
const SECTIONS = ['model_list', 'litellm_settings', 'router_settings', 'general_settings'];

export function importLiteLlm(file: Json): ImportedSettings {
  const notes: ImportedSettings['notes'] = [];
  const note: Note = (path, advice) => void notes.push({ path, advice });
  const given: Json = isObject(file) ? file : {};
  if (!isObject(file)) note('the file', 'has no settings');
  const [litellm, router, general] = SECTIONS.slice(1).map((name) => sectionOf(given, name, note)) as [
    Json,
    Json,
    Json,
  ];
  const variable = createSecretVariables([...variablesOf(given), ...usualVariables(given.model_list)]);
  const { providers, groups } = readDeployments(given.model_list, variable, note);
  addFallbacks(groups, litellm.fallbacks, (advice) => note('litellm_settings.fallbacks', advice));
  addFallbacks(groups, router.fallbacks, (advice) => note('router_settings.fallbacks', advice));
  const names = modelNames(groups.keys());
  const aliases = aliasesOf(names, router.model_group_alias, note);
  const fallbackModels = fallbackModelsOf(names, { litellm, router }, note);
  const routing = { ...routingOf(router, note), ...(fallbackModels && { fallback_models: fallbackModels }) };
  const config = {
    ...deadlinesOf(litellm.request_timeout, router.timeout, note),
    ...(general.master_key != null && { admin: { token: adminToken(general.master_key, variable, note) } }),
    providers: Object.fromEntries(providers),
    models: Object.fromEntries([...groups].map(([group, endpoints]) => [names.get(group), { endpoints }])),
    ...(Object.keys(aliases).length > 0 && { aliases }),
    ...(Object.keys(routing).length > 0 && { routing }),
  };
  noteOthers('litellm_settings', litellm, { known: ['fallbacks', 'default_fallbacks', 'request_timeout'], note });
  const known = ['fallbacks', 'default_fallbacks', 'routing_strategy', 'model_group_alias', 'timeout', 'cooldown_time'];
  noteOthers('router_settings', router, { known, note });
  noteOthers('general_settings', general, { known: ['master_key'], note });
  for (const name of Object.keys(given)) if (!SECTIONS.includes(name)) note(name, adviceOf(name, ADVICE));
  return { config, notes };
}

function sectionOf(file: Json, name: string, note: Note): Json {
  const section = file[name] ?? {};
  if (isObject(section)) return section;
  note(name, 'is no section of settings');
  return {};
}

function unknownGroup(name: string): string {
  return `names "${name}", which is no model_name of the list`;
}

function adminToken(value: unknown, variable: SecretVariable, note: Note): string {
  const onSecret = (advice: string) => note('general_settings.master_key', advice);
  return secretReference(value, 'POLYGATE_ADMIN_TOKEN', { variable, onSecret });
}

/** Turns fallbacks of a group into endpoints of its own, of a lower priority; one that it has already is not added again. */
function addFallbacks(
  groups: Map<string, ImportedEndpoint[]>,
  value: unknown,
  onProblem: (advice: string) => void,
): void {
  const original = new Map([...groups].map(([group, endpoints]) => [group, [...endpoints]]));
  if (value != null && !Array.isArray(value)) onProblem(FALLBACK_RULE);
  for (const entry of Array.isArray(value) ? value : []) {
    if (!isObject(entry) || !Object.values(entry).every(Array.isArray)) onProblem(FALLBACK_RULE);
    else for (const [group, names] of Object.entries(entry)) addFallback(groups, group, { names, original, onProblem });
  }
}

function addFallback(
  groups: ReadonlyMap<string, ImportedEndpoint[]>,
  group: string,
  {
    names,
    original,
    onProblem,
  }: {
    names: Json[];
    original: ReadonlyMap<string, readonly ImportedEndpoint[]>;
    onProblem: (advice: string) => void;
  },
): void {
  const own = groups.get(group);
  if (!own) {
    onProblem(unknownGroup(group));
    return;
  }
  for (const name of names.map(String)) {
    const others = original.get(name);
    if (!others) onProblem(unknownGroup(name));
    const last = Math.max(...own.map(({ priority = 0 }) => priority));
    const added = (others ?? []).filter(({ provider, model }) =>
      own.every((endpoint) => endpoint.provider !== provider || endpoint.model !== model),
    );
    own.push(...added.map((endpoint) => ({ ...endpoint, priority: last + 1 + (endpoint.priority ?? 0) })));
  }
}

function aliasesOf(names: ReadonlyMap<string, string>, value: unknown, note: Note): Record<string, string> {
  const aliases = new Map<string, string>();
  for (const [group, name] of names) if (name !== group) aliases.set(group, name);
  if (value != null && !isObject(value)) note('router_settings.model_group_alias', 'is no map of names to groups');
  for (const [alias, target] of Object.entries(isObject(value) ? value : {})) {
    const group = isObject(target) ? target.model : target;
    const name = names.get(String(group));
    if (name !== undefined) aliases.set(alias, name);
    else note(`router_settings.model_group_alias.${alias}`, unknownGroup(String(group)));
  }
  return Object.fromEntries(aliases);
}

/** Models to try when any other fails; those of the router come before those of all requests, as in LiteLLM. */
function fallbackModelsOf(
  names: ReadonlyMap<string, string>,
  { litellm, router }: { litellm: Json; router: Json },
  note: Note,
): string[] | undefined {
  const isOfRouter = router.default_fallbacks != null && router.default_fallbacks.length !== 0;
  const path = `${isOfRouter ? 'router_settings' : 'litellm_settings'}.default_fallbacks`;
  if (isOfRouter && litellm.default_fallbacks != null)
    note('litellm_settings.default_fallbacks', 'router_settings.default_fallbacks comes before it');
  const given = isOfRouter ? router.default_fallbacks : litellm.default_fallbacks;
  if (given == null) return undefined;
  if (!Array.isArray(given)) {
    note(path, 'is no list of groups');
    return undefined;
  }
  const known = given.flatMap((group) => {
    const name = names.get(String(group));
    if (name === undefined) note(path, unknownGroup(String(group)));
    return name ?? [];
  });
  return known.length > 0 ? [...new Set(known)] : undefined;
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
  const [ofRouter, ofRequests] = [
    readSeconds(router, 'router_settings.timeout', note),
    readSeconds(request, 'litellm_settings.request_timeout', note),
  ];
  if (request != null && ofRouter !== undefined && ofRouter !== ofRequests)
    note('router_settings.timeout', 'litellm_settings.request_timeout comes before it');
  const total = request == null ? ofRouter : ofRequests;
  return total === undefined ? {} : { server: { deadlines: { total } } };
}

function readSeconds(seconds: unknown, path: string, note: Note): string | undefined {
  if (seconds == null) return undefined;
  const duration = durationOf(seconds);
  if (duration === undefined) note(path, `"${seconds}" is no number of seconds up to 99 hours`);
  return duration;
}

function noteOthers(section: string, settings: Json, { known, note }: { known: string[]; note: Note }): void {
  for (const name of Object.keys(settings))
    if (!known.includes(name)) note(`${section}.${name}`, adviceOf(name, ADVICE));
}
