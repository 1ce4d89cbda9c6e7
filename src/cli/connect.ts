/** `polygate connect`: points a coding agent at the gateway by its own settings, after a request has shown that they work. */

import { localUrl } from '../config/host.ts';
import { readListenAddress } from '../config/listen-address.ts';
import { findConfig } from '../config/location.ts';
import { systemClock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import { isLoopback } from '../core/loopback.ts';
import { withoutEnd } from '../core/text.ts';
import { type ConnectedProgram, connectedPrograms } from './connect/programs.ts';
import { applySettings, undoSettings } from './connect/record.ts';
import { type SettingsFile, settingName, withSettings } from './connect/settings-file.ts';
import { type AgentConnection, tryConnection } from './connect/trial.ts';
import type { ConfigOptions } from './source.ts';

export interface ConnectOptions extends ConfigOptions {
  model?: string;
  smallModel?: string;
  url?: string;
  key?: string;
  print?: boolean;
  undo?: boolean;
  /** False: no request is sent. */
  check: boolean;
}

/** Stands for the key where settings are only shown. */
const NO_KEY = 'YOUR_KEY';
const VERSION_SUFFIX = '/v1';

export async function connect(id: string, options: ConnectOptions): Promise<void> {
  const program = connectedPrograms[id] as ConnectedProgram;
  if (options.undo) return undo(id, program);
  const connection = connectionOf(id, options);
  const files = program.files(connection, process.env);
  if (options.print) return print(files);
  if (id === 'gemini') assertSafeUrl(connection.url);
  if (connection.key === '') {
    throw invalid(
      `A key is needed: set POLYGATE_KEY, or give --key. "polygate keys create --name ${id}" makes one beside the gateway.`,
    );
  }
  if (options.check) {
    const endpoint = await tryConnection(program.protocol, connection, systemClock);
    process.stdout.write(`Checked: ${connection.model} is answered by ${endpoint}.\n`);
  }
  applySettings(id, files);
  for (const { path, settings } of files)
    process.stdout.write(`Wrote ${path}: ${settings.map(settingName).join(', ')}\n`);
  for (const name of program.overrides) {
    const value = process.env[name];
    if (value && value !== connection.key && value !== connection.url)
      process.stdout.write(`Warning: ${name} of this shell comes before these settings: unset it.\n`);
  }
  if (program.advice) process.stdout.write(`${program.advice}\n`);
  process.stdout.write(`Start it with "${program.command}"; "polygate connect ${id} --undo" takes it back.\n`);
}

function undo(id: string, program: ConnectedProgram): void {
  const nothing = { url: '', key: '', model: '', smallModel: '' };
  const files = program.files(nothing, process.env);
  const wasConnected = undoSettings(id, files);
  process.stdout.write(
    wasConnected
      ? `${program.title} has its settings from before.\n`
      : `There is nothing to undo: polygate has not changed the settings of ${program.title}.\n`,
  );
}

function connectionOf(id: string, options: ConnectOptions): AgentConnection {
  const { model, key = process.env.POLYGATE_KEY ?? '', print = false } = options;
  if (!model) throw invalid(`A model is needed: polygate connect ${id} --model MODEL. "polygate models" lists them.`);
  if (/[\s"]/.test(model + (options.smallModel ?? '')))
    throw invalid('The name of a model has no spaces and no quotes.');
  if (/[^\x21-\x7e]|["'\\#$`]/.test(key)) throw invalid('The key has a character that no key has.');
  return {
    url: options.url === undefined ? ownUrl(options) : readUrl(options.url),
    key: key === '' && print ? NO_KEY : key,
    model,
    smallModel: options.smallModel || model,
  };
}

function ownUrl({ config }: ConfigOptions): string {
  const address = readListenAddress({ ...findConfig(config), environment: process.env });
  if (address.port === 0)
    throw invalid('The port of the gateway is chosen by the system; name its address with --url.');
  return localUrl(address);
}

function readUrl(text: string): string {
  const url = URL.parse(text);
  const isBase = url && /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username && !url.password;
  if (!isBase) throw invalid(`--url is the address of the gateway, such as http://127.0.0.1:8080; it is ${text}`);
  const base = withoutEnd(url.href, '/');
  return base.endsWith(VERSION_SUFFIX) ? withoutEnd(base.slice(0, -VERSION_SUFFIX.length), '/') : base;
}

/** Gemini CLI sends no key over plain HTTP to another machine. */
function assertSafeUrl(url: string): void {
  const { protocol, hostname } = new URL(url);
  if (protocol === 'https:' || hostname === '[::1]' || isLoopback(hostname)) return;
  throw invalid(`Gemini CLI needs https for a gateway on another machine, and --url is ${url}`);
}

/** The settings as they would stand in files that have nothing else. */
function print(files: SettingsFile[]): void {
  for (const file of files)
    process.stdout.write(`# ${file.path}\n${withSettings('', file)}${file === files.at(-1) ? '' : '\n'}`);
}

function invalid(message: string): GatewayError {
  return new GatewayError('invalid_request', message);
}
