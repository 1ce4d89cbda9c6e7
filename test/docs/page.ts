/** A page of the documents as a reader follows it: its configuration, its commands and its requests, with the real program. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { parse, stringify } from 'yaml';
import type { Json } from '../../src/core/json/json.ts';
import { type Outcome, type Program, program, type Running } from '../cli/program.ts';
import { parseCurl } from './curl.ts';
import { codeIn } from './markdown.ts';

export interface Page extends Pick<Program, 'folder'> {
  /** Lines of the page's shell blocks that begin with a word. */
  lines(start: string): string[];
  /** Runs a line that begins with `polygate`; it must succeed. */
  run(line: string): Promise<Outcome>;
  /** Starts the gateway; gives its first key where the configuration and the store have none. */
  start(): Promise<{ url: string; key: string; running: Running }>;
}

export interface PageOptions {
  /** Addresses of local servers, by the provider that they stand for. */
  upstreams?: Record<string, string>;
  /** More members of these providers. */
  members?: Record<string, Json>;
  environment?: Record<string, string>;
}

const PAGE_URL = 'http://127.0.0.1:8080';

export function openPage(
  context: TestContext,
  document: string,
  { upstreams = {}, members = {}, environment = {} }: PageOptions = {},
): Page {
  const { folder, run, start } = program(context);
  const [yaml] = codeIn(document, 'yaml');
  const config: Json = yaml === undefined ? {} : parse(yaml);
  for (const [id, url] of Object.entries(upstreams)) config.providers[id].base_url = url;
  for (const [id, more] of Object.entries(members)) Object.assign(config.providers[id], more);
  writeFileSync(join(folder, 'polygate.yaml'), stringify(config));
  const shell = codeIn(document, 'sh').flatMap((code) => code.split('\n'));
  return {
    folder,
    lines: (word) => shell.filter((line) => line.startsWith(`${word} `)),
    async run(line) {
      const outcome = await run(wordsOf(line).slice(1), environment);
      assert.equal(outcome.code, 0, `${line}: ${outcome.stderr}`);
      return outcome;
    },
    async start() {
      const running = start(['serve', '--port', '0'], environment);
      const [, url = ''] = await running.shows(/listens on (\S+)/);
      const [greeting] = await running.shows(/^[\s\S]*Ctrl-C/);
      const [key = ''] = /sk-pg-\S+/.exec(greeting) ?? [];
      return { url, key, running };
    },
  };
}

/** Words of a line of shell, quotes taken off. */
export function wordsOf(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, plain]) => single ?? double ?? plain ?? '',
  );
}

/** Sends what a line with `curl` would send; `variables` are those of its shell. */
export function curl(line: string, url: string, variables: Record<string, string>): Promise<Response> {
  const filled = line.replaceAll(/\$([A-Z_]+)/g, (name, key) => variables[key] ?? name).replace(PAGE_URL, url);
  const { url: target, ...request } = parseCurl(filled);
  return fetch(target, request);
}
