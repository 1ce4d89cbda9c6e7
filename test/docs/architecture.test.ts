/** Paths and plans in the documents are those of the code, and the glossary explains the words of the project. */

import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, test } from 'node:test';
import { codeIn, DOCUMENTS, ROOT, tableRows, textOf } from './markdown.ts';

const WORDS = [
  ...['protocol', 'operation', 'route', 'hub', 'passthrough', 'patched', 'translated', 'dialect'],
  ...[
    'keep-alive',
    'idle timeout',
    'response',
    'answer',
    'provider',
    'platform',
    'upstream',
    'endpoint',
    'candidate',
    'attempt',
    'fallback',
  ],
  ...['circuit breaker', 'cooldown', 'probe', 'key', 'credential', 'budget', 'reservation', 'settlement'],
  ...['usage record', 'cost', 'task', 'job', 'lease', 'mirror', 'delivery'],
];
/** Decisions and changes are as old as their date: the files that they name may have gone since. */
const CURRENT = DOCUMENTS.filter((document) => !document.startsWith('docs/decisions/') && document !== 'CHANGELOG.md');

describe('paths in documents exist', () => {
  for (const document of CURRENT) {
    test(document, () => {
      const paths = [...textOf(document).matchAll(/\b(?:src|test|scripts)\/[\w./-]*\w/g)].map(([path]) => path);
      assert.deepEqual(
        paths.filter((path) => !existsSync(join(ROOT, path))),
        [],
      );
    });
  }
});

/** Words of Mermaid that cannot name a participant. */
const RESERVED = [
  'actor',
  'alt',
  'and',
  'as',
  'box',
  'create',
  'destroy',
  'else',
  'end',
  'link',
  'links',
  'loop',
  'note',
  'opt',
  'par',
];

test('arrows of sequence diagrams join participants', () => {
  const diagrams = codeIn('docs/architecture.md', 'mermaid');
  assert.ok(diagrams.length > 0);
  for (const diagram of diagrams) {
    const participants = [...diagram.matchAll(/^ *participant (\w+) as src\//gm)].map(([, name = '']) => name);
    const ends = [...diagram.matchAll(/^ *(\w+)-?->>(\w+):/gm)].flatMap(([, from = '', to = '']) => [from, to]);
    assert.deepEqual([...new Set(ends)].toSorted(), participants.toSorted());
    assert.deepEqual(
      participants.filter((name) => RESERVED.includes(name)),
      [],
    );
  }
});

test('every script that documents name is there', () => {
  const { scripts } = JSON.parse(textOf('package.json'));
  const named = CURRENT.flatMap((document) => [...textOf(document).matchAll(/\bnpm run ([\w:]+)/g)]);
  assert.deepEqual(
    named.map(([, name = '']) => name).filter((name) => !(name in scripts)),
    [],
  );
});

test('the plan has every folder of the code with its purpose, and no other', () => {
  const rows = tableRows('docs/architecture.md').filter(([cell = '']) => /^`src\/[\w/-]+`$/.test(cell));
  const planned = rows.map(([folder = '']) => folder.replaceAll('`', ''));
  const folders = readdirSync(join(ROOT, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ parentPath, name }) => relative(ROOT, join(parentPath, name)).replaceAll('\\', '/'));
  assert.deepEqual(planned.toSorted(), folders.toSorted());
  for (const [folder, ...rest] of rows) {
    assert.equal(rest.length, 1, folder);
    assert.match(rest[0] ?? '', /^[A-Z`].*\.$/, folder);
  }
});

test('CONTRIBUTING.md links to the plan, and does not repeat it', () => {
  assert.ok(textOf('CONTRIBUTING.md').includes('](docs/architecture.md#plan)'));
  assert.deepEqual(
    tableRows('CONTRIBUTING.md').filter(([cell = '']) => cell.startsWith('`src/')),
    [],
  );
});

test('docs/glossary.md explains the words of the project', () => {
  const rows = tableRows('docs/glossary.md');
  const explained = rows.flatMap(([cell = '']) => [...cell.matchAll(/\*\*([^*]+)\*\*/g)].map(([, word = '']) => word));
  assert.deepEqual(
    WORDS.filter((word) => !explained.includes(word)),
    [],
  );
  assert.equal(new Set(explained).size, explained.length);
  for (const [word, meaning = ''] of rows) assert.match(meaning, /\.$/, word);
});

test('docs/index.md leads to every document', () => {
  const index = textOf('docs/index.md');
  const missing = CURRENT.filter((document) => {
    const [, target] = /^docs\/(.+)$/.exec(document) ?? [];
    return target !== undefined && target !== 'index.md' && !index.includes(`(${target})`);
  });
  assert.deepEqual(missing, []);
});
