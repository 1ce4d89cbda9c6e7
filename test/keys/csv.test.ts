/** Keys from CSV: columns, quotes, and lines that are refused by their number. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { keysOfCsv } from '../../src/keys/csv.ts';

describe('keys of CSV', () => {
  test('have the fields of their columns', () => {
    const text =
      '\uFEFFName, owner ,tag:team,metadata:Note,models,rpm,budget:month,expires\r\nana,"Ana, ""A""",search,"two\r\nlines",openai/* sandbox/*,60,5.00,2099-01-31\r\n\r\nben,,,,,,,\n,,\ncleo';
    assert.deepEqual(keysOfCsv(text), [
      {
        line: 2,
        fields: {
          name: 'ana',
          owner: 'Ana, "A"',
          tags: { team: 'search' },
          metadata: { Note: 'two\r\nlines' },
          models: ['openai/*', 'sandbox/*'],
          limits: { requests_per_minute: 60 },
          budgets: { month: '5.00' },
          expires_at: '2099-01-31',
        },
      },
      { line: 5, fields: { name: 'ben' } },
      { line: 7, fields: { name: 'cleo' } },
    ]);
  });

  for (const [text, message] of [
    ['', /a line of column names/],
    ['name\n', /a line of column names/],
    ['owner\nana\n', /a column "name"/],
    ['name,team\nana,x\n', /the column "team"/],
    ['name,tag:\nana,x\n', /the column "tag:"/],
    ['name,Name\nana,x\n', /"name" twice/],
    ['name\nana,x\n', /line 2 must have at most 1/],
    ['name\nana\n"ben\n', /line 3 has a quote/],
    ['name\nana\nb"en\n', /line 3 has a quote/],
    ['name\n"ana"x\n', /line 2 has a quote/],
  ] as [string, RegExp][]) {
    test(`are refused for ${JSON.stringify(text)}`, () => {
      assert.throws(() => keysOfCsv(text), message);
    });
  }
});
