/** Definition of `polygate tags` and its subcommands. */

import type { Command } from 'commander';
import { example, withJson } from './command.ts';
import { withAllotment } from './key-commands.ts';

const TAG_ARGUMENT = '<name=value>';
const TAG_HELP = 'the tag, e.g. team=search';

export function addTagCommands(root: Command): void {
  const tags = root
    .command('tags')
    .description('list tags of keys, and set the limits and budgets that their keys share');
  withJson(tags.command('list'))
    .description('list tags with their keys, limits, budgets and spending')
    .addHelpText('after', example('polygate tags list'))
    .action(async (options) => (await import('./tags.ts')).listTags(options));
  withAllotment(withJson(tags.command('set')), 'all keys with the tag together')
    .description('set limits and budgets of a tag; options that are not given change nothing')
    .argument(TAG_ARGUMENT, TAG_HELP)
    .addHelpText('after', example('polygate tags set team=search --rpm 600 --budget month=400.00'))
    .action(async (tag, options) => (await import('./tags.ts')).setTag(tag, options));
  withJson(tags.command('remove'))
    .description('take all limits and budgets of a tag back')
    .argument(TAG_ARGUMENT, TAG_HELP)
    .addHelpText('after', example('polygate tags remove team=search'))
    .action(async (tag, options) => (await import('./tags.ts')).removeTag(tag, options));
  tags.addHelpText('after', example('polygate tags list'));
}
