/** Documents agree with the code: links, tables, configurations. */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { parseConfig } from '../../src/config/load.ts';
import { ERRORS, type ErrorCode, GatewayError } from '../../src/core/errors.ts';
import type { Json } from '../../src/core/json/json.ts';
import { protocolOf } from '../../src/protocols/index.ts';
import { providerTypes } from '../../src/providers/index.ts';
import { modelsOf } from '../../src/providers/sandbox/models.ts';
import { program } from '../cli/program.ts';
import { translatedProtocols } from '../translated-protocols.ts';
import { anchors, codeBlocks, DOCUMENTS, links, ROOT, tableRows, textOf } from './markdown.ts';

/** Stands for every certificate that a configuration names. */
const CA = join(ROOT, 'test/net/fixtures/test-only-ca.pem');

describe('links lead somewhere', () => {
  for (const document of DOCUMENTS) {
    test(document, () => {
      for (const target of links(document).filter((link) => !/^https?:/.test(link))) {
        const [path = '', anchor] = target.split('#');
        const file = path === '' ? document : posix.join(dirname(document), path);
        assert.ok(existsSync(join(ROOT, file)), `${target} leads nowhere`);
        if (anchor) assert.ok(anchors(file).includes(anchor), `${target}: there is no such heading`);
      }
    });
  }
});

describe('rows of a table have as many cells as its head', () => {
  for (const document of DOCUMENTS) {
    test(document, () => {
      const cells = (row: string) => row.replaceAll('\\|', '').split('|').length;
      const lines = textOf(document).split('\n');
      const isRow = (line = '') => line.trimStart().startsWith('|');
      const uneven = lines.filter((line, index) => {
        const before = lines[index - 1];
        return isRow(line) && isRow(before) && cells(line) !== cells(before ?? '');
      });
      assert.deepEqual(uneven, []);
    });
  }
});

/** Fragments that show the members of a provider, or of a model, stand where they belong. */
function whole(value: Json, code: string): string {
  const indented = (indent: string) => code.replaceAll(/^(?=.)/gm, indent);
  const top = [
    'server',
    'data',
    'responses',
    'keys',
    'providers',
    'models',
    'aliases',
    'default_model',
    'routing',
    'callbacks',
    'network',
    'encryption',
    'videos',
    'usage',
    'limits',
    'key_defaults',
    'tags',
    'admin',
    'telemetry',
    'catalog',
    'notices',
  ];
  const isWhole = Object.keys(value ?? {}).every((name) => top.includes(name)) && !Array.isArray(value?.models);
  if (isWhole) return code;
  return `providers:\n  example:\n    type: openai-compatible\n    base_url: http://127.0.0.1:8000/v1\n${indented('    ')}`;
}

describe('configurations are valid', () => {
  for (const document of DOCUMENTS) {
    for (const { language, code, line } of codeBlocks(document)) {
      if (language !== 'yaml') continue;
      test(`${document}:${line}`, () => {
        const names = [...code.matchAll(/\$\{([A-Z0-9_]+)\}/g)].map(([, name = '']) => name);
        // Of the length and kind that keys and tokens must be.
        const value = Buffer.alloc(32, 'value').toString('base64');
        const environment = Object.fromEntries(names.map((name) => [name, value]));
        const placed = code.replace(/ca_file: \S+/, `ca_file: ${JSON.stringify(CA)}`);
        parseConfig(whole(parse(placed), placed), { environment, known: providerTypes });
      });
    }
  }
});

describe('JSON is JSON', () => {
  for (const document of DOCUMENTS) {
    for (const { language, code, line } of codeBlocks(document)) {
      if (language === 'json') test(`${document}:${line}`, () => void JSON.parse(code));
    }
  }
});

describe('docs/errors.md', () => {
  const rows = tableRows('docs/errors.md').filter(([code]) => /^`[a-z_]+`$/.test(code ?? ''));
  const codes = Object.keys(ERRORS) as ErrorCode[];

  test('says of every code what it means, and of nothing else', () => {
    const explained = rows.filter((row) => row.length === 2).map(([code = '']) => code.replaceAll('`', ''));
    assert.deepEqual(explained, codes);
  });

  test('gives every code the status and names that the protocols give it', () => {
    const rest = rows.filter((row) => row.length > 2);
    assert.deepEqual(
      rest,
      codes.map((code) => [
        `\`${code}\``,
        ...translatedProtocols.map((protocol) =>
          namesOf(protocol.id, protocol.encodeError(new GatewayError(code, ''), '')),
        ),
        ERRORS[code].retryable ? 'yes' : 'no',
      ]),
    );
  });

  test('gives Responses the errors of chat completions', () => {
    for (const code of codes) {
      const error = new GatewayError(code, 'No.');
      assert.deepEqual(protocolOf('responses').encodeError(error, ''), protocolOf('chat').encodeError(error, ''));
    }
  });
});

function namesOf(protocol: string, { status, body }: { status: number; body: Json }): string {
  const { type, code, status: name } = body.error;
  switch (protocol) {
    case 'chat':
      return `${status} \`${type}\`, \`${code}\``;
    case 'messages':
      return `${status} \`${type}\``;
    default:
      return `${status} \`${name}\``;
  }
}

test('docs/sandbox.md lists the models of the sandbox', () => {
  const models = modelsOf('sandbox').map(({ id }) => id);
  const listed = tableRows('docs/sandbox.md').flatMap(([name = '']) => /^`(sandbox\/\w+)`$/.exec(name)?.[1] ?? []);
  assert.ok(models.length > 0);
  assert.deepEqual(listed.sort(), models.sort());
});

test('docs/dependencies.md names every direct dependency, and nothing else', () => {
  const documented = tableRows('docs/dependencies.md').map(([name = '', purpose = '']) => {
    assert.notEqual(purpose, '', `${name} has no purpose`);
    return name.replaceAll('`', '');
  });
  const manifests = [
    'package.json',
    'test/clients/package.json',
    'test/clients/claude-code/package.json',
    'ui/package.json',
  ].map((file) => JSON.parse(readFileSync(join(ROOT, file), 'utf8')));
  const direct = manifests.flatMap(({ dependencies, devDependencies }) =>
    Object.keys({ ...dependencies, ...devDependencies }),
  );
  // One package in several versions, each under a name of its own.
  const codex = JSON.parse(readFileSync(join(ROOT, 'test/clients/codex/package.json'), 'utf8'));
  const versions = Object.values<string>({ ...codex.dependencies, ...codex.optionalDependencies });
  const packages = new Set(versions.map((version) => version.replace(/^npm:(.+)@.*$/, '$1')));
  const agents = JSON.parse(readFileSync(join(ROOT, 'test/agents/package.json'), 'utf8'));
  const known = new Set([...direct, ...packages]);
  const coding = Object.keys({ ...agents.dependencies, ...agents.python }).filter((name) => !known.has(name));
  assert.deepEqual([...new Set(documented)].toSorted(), [...new Set([...direct, ...packages, ...coding])].toSorted());
});

test('docs/protocols.md names every header of the gateway, and no other', () => {
  const documented = tableRows('docs/protocols.md').flatMap(
    ([cell]) => /^`(x-polygate-[a-z-]+)`$/.exec(cell ?? '')?.[1] ?? [],
  );
  const used = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => [...readFileSync(join(ROOT, 'src', file), 'utf8').matchAll(/'(x-polygate-[a-z-]+)'/g)])
    .map(([, name = '']) => name);
  assert.deepEqual([...new Set(documented)].toSorted(), [...new Set(used)].toSorted());
});

test('every option of a command is in a document', async (context) => {
  const { stdout } = await program(context).run(['completion', 'bash']);
  const options = new Set(stdout.match(/(?<=[ "])--[a-z-]+/g));
  for (const option of ['--help', '--version']) options.delete(option);
  const current = DOCUMENTS.filter(
    (document) => !document.startsWith('docs/decisions/') && document !== 'CHANGELOG.md',
  );
  const named = new Set(current.flatMap((document) => textOf(document).match(/(?<![\w-])--[a-z-]+/g) ?? []));
  assert.ok(options.size > 50, `${options.size} options`);
  assert.deepEqual(
    [...options].filter((option) => !named.has(option)),
    [],
  );
});
