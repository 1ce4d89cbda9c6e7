/** Commands for the operation of a gateway: health and schema. */

import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '../config/units.ts';
import { example, portOption, withConfig } from './command.ts';

export function addOperationCommands(root: Command): void {
  withConfig(root.command('health'))
    .description('ask the running gateway whether it is ready; the exit code is 1 if it is not')
    .addOption(portOption('port of the gateway (default: that of the configuration)'))
    .option('--url <url>', 'address of the gateway (default: that of the configuration, on this machine)')
    .addOption(
      new Option('--timeout <duration>', 'time to wait for an answer').argParser(parseWait).default(3000, '3s'),
    )
    .addHelpText('after', example('polygate health --url http://127.0.0.1:8080'))
    .action(async (options) => (await import('./health.ts')).checkHealth(options));
  withConfig(root.command('migrate'))
    .description('bring the store to the schema of this version, as a start does')
    .option('--check', 'change nothing; the exit code is 1 if something is pending')
    .option('--wait <duration>', 'time to wait for a database that cannot be reached', parseWait)
    .addHelpText('after', example('polygate migrate --wait 1m'))
    .action(async (options) => (await import('./migrate.ts')).migrate(options));
}

function parseWait(text: string): number {
  const wait = parseDuration(text);
  if (wait === undefined) throw new InvalidArgumentError('A duration is e.g. 30s or 5m.');
  return wait;
}
