/** Definition of `polygate keys` and its subcommands. */

import type { Command } from 'commander';
import { example, portOption, withJson } from './command.ts';

const KEY_ARGUMENT = '<id-or-name>';
const KEY_HELP = 'id or name of the key, as in the list';

export function addKeyCommands(root: Command): void {
  const keys = root.command('keys').description('create, list, change and revoke API keys of the gateway');
  addCreateCommand(keys);
  addReadCommands(keys);
  addUpdateCommands(keys);
  addSecretCommands(keys);
  keys.addHelpText('after', example('polygate keys create --name laptop'));
}

export function addLogin(root: Command): void {
  withJson(root.command('login'))
    .description('make a one-time link to the dashboard, beside a running gateway')
    .option('--viewer', 'a link that changes nothing and shows no secrets')
    .addOption(portOption('port of the gateway (default: that of the configuration)'))
    .option('--url <url>', 'address of the dashboard (default: that of the configuration, on this machine)')
    .addHelpText('after', example('polygate login --viewer'))
    .action(async (options) => (await import('./login.ts')).login(options));
}

function addCreateCommand(keys: Command): void {
  withSettings(withJson(keys.command('create')))
    .description('create a key, or several, and print them; they are not shown again')
    .option('--name <name>', 'name of the key')
    .option('--from <file>', 'create a key for each line of a CSV file, whose first line names the columns, or none')
    .option('--csv', 'with --from: print CSV instead of a table')
    .addHelpText('after', example("polygate keys create --name ci --expires 30d --models 'openai/*,sandbox/*'"))
    .action(async (options) => {
      if (options.from === undefined) return (await import('./keys.ts')).createKey(options);
      return (await import('./key-bulk.ts')).createKeys(options);
    });
}

function addReadCommands(keys: Command): void {
  withJson(keys.command('list'))
    .description('list the keys')
    .addHelpText('after', example('polygate keys list'))
    .action(async (options) => (await import('./keys.ts')).listKeys(options));
  withJson(keys.command('show'))
    .description('show the permissions and limits of a key')
    .argument(KEY_ARGUMENT, KEY_HELP)
    .addHelpText('after', example('polygate keys show ci'))
    .action(async (key, options) => (await import('./keys.ts')).showKey(key, options));
}

function addUpdateCommands(keys: Command): void {
  withSettings(withJson(keys.command('update')))
    .description('change the permissions and limits of a key; options that are not given change nothing')
    .argument(KEY_ARGUMENT, KEY_HELP)
    .option('--name <name>', 'new name of the key')
    .option('--no-read-only', 'allow requests again')
    .addHelpText('after', example('polygate keys update ci --rpm 60 --budget month=20.00'))
    .action(async (key, options) => (await import('./keys.ts')).updateKey(key, options));
  withJson(keys.command('rotate'))
    .description('replace the secret of a key and print the new one; it is not shown again')
    .argument(KEY_ARGUMENT, KEY_HELP)
    .option('--overlap <duration>', 'time for which the old secret still works, 0 after a leak', '24h')
    .addHelpText('after', example('polygate keys rotate ci --overlap 1h'))
    .action(async (key, options) => (await import('./keys.ts')).rotateKey(key, options));
  for (const [name, disabled] of [['disable', true] as const, ['enable', false] as const]) {
    withJson(keys.command(name))
      .description(disabled ? 'disable a key until it is enabled again' : 'enable a disabled key')
      .argument(KEY_ARGUMENT, KEY_HELP)
      .addHelpText('after', example(`polygate keys ${name} ci`))
      .action(async (key, options) => (await import('./keys.ts')).setKeyDisabled(key, disabled, options));
  }
  withJson(keys.command('revoke'))
    .description('revoke a key permanently')
    .argument(KEY_ARGUMENT, KEY_HELP)
    .addHelpText('after', example('polygate keys revoke ci'))
    .action(async (key, options) => (await import('./keys.ts')).revokeKey(key, options));
}

function addSecretCommands(keys: Command): void {
  withJson(keys.command('secret'))
    .description('show the signing secret of the webhooks of a key')
    .argument(KEY_ARGUMENT, KEY_HELP)
    .option('--rotate', 'create a new secret')
    .option('--activate-in <duration>', 'time until the new secret signs, 0 after a leak', '24h')
    .addHelpText('after', example('polygate keys secret ci --rotate --activate-in 1h'))
    .action(async (key, options) => (await import('./keys.ts')).showSecret(key, options));
  withJson(keys.command('rekey'))
    .description('encrypt stored secrets again with the newest encryption key')
    .addHelpText('after', example('polygate keys rekey'))
    .action(async (options) => (await import('./keys.ts')).rekey(options));
}

function withSettings(command: Command): Command {
  const described = command
    .option('--expires <moment>', 'ISO date, or a duration from now such as 30d')
    .option('--owner <name>', 'person or team that holds the key')
    .option('--tag <name=value...>', 'groups that the key belongs to, e.g. team=search')
    .option('--metadata <name=value...>', 'notes')
    .option('--models <globs>', 'models the key may use, e.g. openai/*,sandbox/* (default: all)')
    .option('--surfaces <names>', 'surfaces the key may use, e.g. chat,videos (default: all)')
    .option('--read-only', 'the key may only read its own usage and tasks')
    .option('--store-responses', 'store its responses, whatever the configuration says')
    .option('--no-store-responses', 'store none of its responses')
    .option('--cidrs <ranges>', 'client addresses that may use the key (default: all)');
  return withAllotment(described, 'the key');
}

/** Limits and budgets. */
export function withAllotment(command: Command, holder: string): Command {
  return command
    .option('--rpm <number>', 'requests a minute')
    .option('--tpm <number>', 'tokens a minute, in and out')
    .option('--concurrent <number>', 'requests at once')
    .option('--budget <period=USD...>', `USD that ${holder} may spend by day, week, month and total, e.g. day=5.00`);
}
