/** Commands for the operation of a gateway: health, schema, backup and restore. */

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
  addBackupCommands(root);
  const webhooks = root.command('webhooks').description('receive webhooks on a machine without a public address');
  webhooks
    .command('listen')
    .description('receive the webhooks of a key, verify and show them')
    .addOption(new Option('--url <url>', 'address of the gateway').default('http://127.0.0.1:8080'))
    .option('--key <key>', 'a key of the gateway (default: the variable POLYGATE_KEY)')
    .option('--forward <url>', 'also send them there, such as http://localhost:3000/hook')
    .addHelpText('after', example('polygate webhooks listen --forward http://localhost:3000/hook'))
    .action(async (options) => (await import('./webhooks-listen.ts')).listen(options));
  webhooks.addHelpText('after', example('polygate webhooks listen'));
}

function addBackupCommands(root: Command): void {
  const keyHelp = 'the encryption key, which is kept apart from the backup';
  withConfig(root.command('backup'))
    .description('copy the store to an empty folder, beside a running gateway')
    .argument('<folder>', 'new folder of the backup')
    .option('--encryption-key <file>', `also copy the file of ${keyHelp}, to this file`)
    .option('--media', 'also copy finished videos and pictures')
    .addHelpText('after', example('polygate backup backup/monday --encryption-key elsewhere/encryption.key'))
    .action(async (folder, options) => (await import('./backup.ts')).makeBackup(folder, options));
  withConfig(root.command('restore'))
    .description('put a backup back, while no gateway runs')
    .argument('<folder>', 'folder of the backup')
    .option('--check', 'change nothing; say whether the backup can be restored')
    .option('--encryption-key <file>', `file with ${keyHelp}`)
    .option('--replace', 'move a store or a journal that is there aside')
    .addHelpText('after', example('polygate restore backup/monday --check'))
    .action(async (folder, options) => (await import('./backup.ts')).restoreBackup(folder, options));
}

function parseWait(text: string): number {
  const wait = parseDuration(text);
  if (wait === undefined) throw new InvalidArgumentError('A duration is e.g. 30s or 5m.');
  return wait;
}
