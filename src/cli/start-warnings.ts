/** Start warnings: problems that do not prevent the start. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { bundledEntry, type KnownEntries } from '../catalog/bundled.ts';
import { knownEntries, readCatalog, updatedCatalogPath } from '../catalog/updated.ts';
import type { Config, ConfiguredModel } from '../config/resolved.ts';
import { isLoopback } from '../core/loopback.ts';
import type { Key } from '../keys/key.ts';
import { providerTypes } from '../providers/index.ts';
import type { UnknownModel } from '../routing/model-names.ts';
import { isMissingOrEmpty } from '../store/lost-store.ts';

/** Lower ports need root on most systems. */
const FIRST_UNPRIVILEGED_PORT = 1024;
/** Files that container runtimes create. In a container, root is often the only user. */
const CONTAINER_MARKER_FILES = ['/.dockerenv', '/run/.containerenv'];

export interface Machine {
  platform: NodeJS.Platform;
  /** User id; absent on systems without one. */
  uid?: number;
  isContainer: boolean;
  /** Variable that names a proxy for connections to other machines. */
  proxyVariable?: string | undefined;
}

/** Variables of proxies for addresses with https, as providers have. */
const PROXY_VARIABLES = ['HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy'];

export function startWarnings(config: Config, machine = thisMachine()): string[] {
  const warnings: string[] = [];
  if (isRootUnnecessary(config, machine)) {
    warnings.push('The gateway runs as root unnecessarily: run it as its own user, which owns the data folder.');
  }
  if (
    !config.postgres &&
    !isMissingOrEmpty(join(config.data, 'state.db')) &&
    isMissingOrEmpty(join(config.data, 'usage.db'))
  ) {
    warnings.push('usage.db is missing or empty beside state.db: budgets begin at zero, and reports are empty.');
  }
  const { problem } = readCatalog(config.data);
  if (problem !== undefined) {
    const path = updatedCatalogPath(config.data);
    warnings.push(`${path} ${problem}: the bundled facts about models count. Run polygate catalog update.`);
  }
  const proxy = proxyWarning(config, machine);
  if (proxy !== undefined) warnings.push(proxy);
  return warnings;
}

/** Warning of a proxy that is set in the environment, which other programs would use. */
export function proxyWarning({ network }: Pick<Config, 'network'>, machine = thisMachine()): string | undefined {
  const { proxyVariable } = machine;
  if (network.proxy || proxyVariable === undefined) return undefined;
  return `${proxyVariable} is set, and is not used: with network: { proxy: "\${${proxyVariable}}" } in the configuration file, the gateway connects to providers through it.`;
}

export function unknownModelWarning({ setting, name, provider }: UnknownModel): string {
  if (provider !== undefined) {
    const advice = `polygate models --provider ${provider} shows those that it lists`;
    return `Warning: ${setting}: ${provider} lists no model "${name}", so that it has no price, and may refuse its requests; ${advice}.`;
  }
  return `Warning: ${setting}: there is no model "${name}"; polygate models lists those there are.`;
}

/** Warnings of providers of the configuration file that wait for a variable. */
export function waitingWarnings({ providers }: Pick<Config, 'providers'>): string[] {
  return providers.flatMap((provider) => {
    if (provider.state !== 'waiting' || !provider.isConfigured) return [];
    const { id, waitingFor } = provider;
    return [`Warning: providers.${id} waits for ${waitingFor.join(' or ')}, and is not used until it is set.`];
  });
}

/** Warnings of providers at the address of the gateway, as llama.cpp has by default: it would ask itself. */
export function ownAddressWarnings({ providers, server }: Pick<Config, 'providers' | 'server'>): string[] {
  return providers.flatMap((provider) => {
    if (provider.state !== 'ready') return [];
    const { id, type, baseUrl = providerTypes.get(type)?.baseUrl } = provider;
    const url = baseUrl === undefined ? null : URL.parse(baseUrl);
    const isOwn = url?.protocol === 'http:' && url.port === String(server.port) && isOwnHost(url.hostname, server.host);
    if (!isOwn) return [];
    return [
      `Warning: providers.${id}: ${baseUrl} is the address of the gateway itself; choose another port for it with --port, or the base_url of the provider.`,
    ];
  });
}

function isOwnHost(host: string, listening: string): boolean {
  const name = host.replace(/^\[|\]$/g, '');
  const isOnLoopback = isLoopback(listening) || listening === '0.0.0.0' || listening === '::';
  return name === listening || (isOnLoopback && isLoopback(name));
}

/** Warnings of names of keys in settings that no key has. */
export function unknownKeyWarnings({ telemetry }: Config, keys: readonly Pick<Key, 'name' | 'revoked'>[]): string[] {
  const names = new Set(keys.filter(({ revoked }) => revoked === undefined).map(({ name }) => name));
  return telemetry.budgetKeys
    .filter((name) => !names.has(name))
    .map(
      (name) => `Warning: telemetry.budget_keys: there is no key "${name}"; polygate keys list shows those there are.`,
    );
}

/** Warnings of models without the facts of the catalog: deployments whose model nothing names, and bases that are not there. */
export function baseWarnings({ providers, data }: Pick<Config, 'providers' | 'data'>): string[] {
  const known = knownEntries(data);
  return providers.flatMap((provider) => {
    if (provider.state !== 'ready' || !Array.isArray(provider.models)) return [];
    const { id, type, models } = provider;
    const isDeployed = providerTypes.get(type)?.namesDeployments === true;
    const problems = models.flatMap((model) => baseProblem(model, isDeployed, known) ?? []);
    return problems.map((problem) => `Warning: providers.${id}.models: ${problem}`);
  });
}

function baseProblem(model: ConfiguredModel, isDeployed: boolean, known: KnownEntries): string | undefined {
  const { id, base, pricing, rules } = model;
  const lacks = [...(rules ? [] : ['the newest rules']), ...(pricing ? [] : ['no price'])].join(' and ');
  if (lacks === '') return undefined;
  if (base !== undefined) {
    if (bundledEntry(model, '', known)) return undefined;
    return `the base "${base}" of "${id}" is no model of the catalog: it has ${lacks}`;
  }
  if (!isDeployed) return undefined;
  const vendor = [...known.keys()].find((name) => known.get(name)?.has(id)) ?? 'openai';
  const example = known.get(vendor)?.has(id) ? `${vendor}/${id}` : 'openai/gpt-5.4';
  return `"${id}" has no base, such as ${example}: it has ${lacks}`;
}

function isRootUnnecessary({ server, admin }: Config, { platform, uid, isContainer }: Machine): boolean {
  if (platform !== 'linux' || uid !== 0 || isContainer) return false;
  const ports = [server.port, ...(admin ? [admin.port] : [])];
  return ports.every((port) => port === 0 || port >= FIRST_UNPRIVILEGED_PORT);
}

function thisMachine(): Machine {
  const isContainer = process.env.KUBERNETES_SERVICE_HOST !== undefined || CONTAINER_MARKER_FILES.some(existsSync);
  const proxyVariable = PROXY_VARIABLES.find((name) => process.env[name]);
  return { platform: process.platform, uid: process.getuid?.(), isContainer, proxyVariable };
}
