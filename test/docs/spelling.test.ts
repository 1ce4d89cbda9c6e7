/** One spelling of the command in all documents, with one sentence on what it is in a clone. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DOCUMENTS, textOf } from './markdown.ts';

/** Where a reader meets the command first. */
const WITH_SENTENCE = ['README.md', 'docs/quick-start.md'];
const SENTENCE =
  /`polygate \.\.\.` is the command of the npm package; in a clone of the project it is `npm run --silent polygate -- \.\.\.`/g;
const OTHER_SPELLINGS = [
  /npm start --/,
  /npm run (?:--silent )?polygate/,
  /npx polygate \S/,
  /node (?:\.\/)?(?:src|dist)\/(?:main|polygate)/,
];

for (const document of DOCUMENTS) {
  test(`${document} spells commands as "polygate ..."`, () => {
    const text = textOf(document);
    assert.equal([...text.matchAll(SENTENCE)].length, WITH_SENTENCE.includes(document) ? 1 : 0);
    const lines = text.replaceAll(SENTENCE, '').split('\n');
    for (const spelling of OTHER_SPELLINGS)
      assert.deepEqual(
        lines.filter((line) => spelling.test(line)),
        [],
      );
  });
}
