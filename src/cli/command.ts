/** Options and help shared by several commands. */

import { type Command, InvalidArgumentError, Option } from 'commander';
import { CONFIG_VARIABLE } from '../config/environment.ts';

export function withConfig(command: Command): Command {
  const description = 'configuration file, or the YAML itself (default: polygate.yaml where it exists)';
  return command.addOption(new Option('--config <file>', description).env(CONFIG_VARIABLE));
}

export function withJson(command: Command): Command {
  return withConfig(command).option('--json', 'print JSON');
}

export function example(line: string): string {
  return `\nExample:\n  ${line}`;
}

export function parseLimit(text: string): number {
  const limit = Number(text);
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError('A limit is a number from 1 to 9999.');
  return limit;
}

/** The port of the gateway; the variable is that of hosting platforms, and an empty one is none. */
export function portOption(description: string): Option {
  const option = new Option('--port <number>', description).argParser(parsePort);
  return process.env.PORT === '' ? option : option.env('PORT');
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65535) throw new InvalidArgumentError('A port is a number from 0 to 65535.');
  return port;
}
