/** `polygate providers`: lists the providers, whether they are ready, and the variables that the others wait for. */

import { parseConfig } from '../config/load.ts';
import { readConfigText } from '../config/location.ts';
import type { ProviderState } from '../gateway/provider-state.ts';
import { providerTypes } from '../providers/index.ts';
import { discoverModels } from './discovery.ts';
import { type ConfigOptions, configSource } from './source.ts';
import { printJson, printTable } from './table.ts';

const HEADINGS = ['ID', 'STATE', 'MODELS', ''];
/** State of servers of models on this machine that no entry turns on; it may be empty. */
const OFF = 'off';
/** Names of variables that look as if they had a key. */
const KEY_NAME = /^[A-Z][A-Z0-9_]*(?:KEY|TOKEN|SECRET)$/;
/** Vendors in names of variables are compared from this length on. */
const MIN_VENDOR_CHARACTERS = 4;
const ORDER: ProviderState['state'][] = ['ready', 'unreachable', 'waiting'];

export async function listProviders(options: ConfigOptions & { json?: boolean }): Promise<void> {
  const source = configSource(options);
  const text = readConfigText(source);
  const config = parseConfig(text, source);
  const states = (await discoverModels(config)).states();
  const sorted = states.toSorted((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state));
  if (options.json) return printJson(sorted.map(({ waitingFor, ...state }) => ({ ...state, waiting_for: waitingFor })));
  const unread = unreadVariables(text);
  const listed = sorted.map(({ id, state, models, problem, waitingFor = [] }) => [
    id,
    state,
    state === 'waiting' ? '' : String(models),
    problem ?? (waitingFor.length > 0 ? `set ${waitingFor.join(' or ')}${mistakenFor(waitingFor, unread)}` : ''),
  ]);
  const taken = new Set(config.providers.map(({ type }) => type));
  const servers = [...providerTypes.values()].filter(
    ({ id, keyless, builtIn, baseUrl }) => keyless && !builtIn && baseUrl !== undefined && !taken.has(id),
  );
  const others = servers.map(({ id }) => [id, OFF, '', `write "${id}: {}" below providers in the configuration`]);
  printTable(HEADINGS, [...listed, ...others]);
}

/** Variables with the name of a key that no provider reads, and that the text of the configuration does not name. */
function unreadVariables(text: string): string[] {
  const read = new Set([...providerTypes.values()].flatMap(({ environment }) => environment));
  const names = Object.keys(process.env).filter((name) => KEY_NAME.test(name) && process.env[name]);
  return names.filter((name) => !read.has(name) && !text.includes(`\${${name}`));
}

/** Hint of a variable that is set, and begins with the vendor as the wanted ones do. */
function mistakenFor(wanted: readonly string[], unread: readonly string[]): string {
  const vendors = wanted.map(vendorOf);
  const name = unread.find((other) => vendors.some((vendor) => isSameVendor(vendor, vendorOf(other))));
  return name === undefined ? '' : `; ${name} is set, which is not read`;
}

function isSameVendor(one: string, other: string): boolean {
  if (Math.min(one.length, other.length) < MIN_VENDOR_CHARACTERS) return false;
  return one.startsWith(other) || other.startsWith(one);
}

function vendorOf(variable: string): string {
  return variable.split('_', 1)[0] ?? '';
}
