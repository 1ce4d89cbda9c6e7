/** Offsets of citations on the wire of generateContent: bytes of UTF-8 for units of UTF-16, in texts of any length. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { byteOffsets, createQuoteSearch, createSearchBudget } from '../../src/protocols/generate/citation-places.ts';
import { createCitationBudget, decodeCitations, encodeCitations } from '../../src/protocols/generate/citations.ts';

const texts = fc.array(fc.constantFrom('a', 'é', '€', '😀', '\ud83d', '\ude00', 'words of it '), { maxLength: 300 });

test('bytes and units are those of the encoded text, also of pairs and of halves of them', () => {
  fc.assert(
    fc.property(texts, (pieces) => {
      const text = pieces.join('');
      const { byteAt, unitAt } = byteOffsets(text);
      let bytes = 0;
      const before: number[] = [];
      for (const character of text) {
        for (let unit = 0; unit < character.length; unit++) before.push(bytes);
        bytes += Buffer.byteLength(character);
      }
      before.push(bytes);
      for (const [unit, expected] of before.entries()) assert.equal(byteAt(unit), expected);
      for (let byte = 0; byte <= bytes; byte++)
        assert.equal(
          unitAt(byte),
          before.findIndex((offset) => offset >= byte),
        );
      assert.deepEqual([byteAt(-1), byteAt(1e12), unitAt(1e12)], [0, bytes, text.length]);
    }),
  );
});

describe('a quote', () => {
  test('is found as by any search', () => {
    const pieces = fc.array(fc.constantFrom('a', 'b', 'ab'.repeat(70)), { maxLength: 20 });
    fc.assert(
      fc.property(pieces, pieces, (text, quote) => {
        const find = createQuoteSearch(text.join(''), createSearchBudget());
        const expected = text.join('').indexOf(quote.join(''));
        assert.deepEqual([find(quote.join('')), find(quote.join(''))], [expected, expected]);
      }),
    );
  });

  test('is not searched for where too much was searched for others', () => {
    const text = `${'a'.repeat(1_000_000)}b`;
    const find = createQuoteSearch(text, createSearchBudget());
    const found = Array.from({ length: 100 }, (_, index) => find(`b${index}`)).concat(find('b'));
    assert.deepEqual([new Set(found), found.length], [new Set([-1]), 101]);
    assert.equal(createQuoteSearch(text, createSearchBudget())('b'), 1_000_000);
  });
});

describe('citations', () => {
  test('without offsets cite the whole text, in words as long as there is room for them', () => {
    const text = 'é'.repeat(40_000);
    const citations = Array.from({ length: 5 }, (_, index) => ({
      citation: { url: `https://x/${index}` },
      offset: 0,
      length: text.length,
    }));
    const { groundingSupports } = encodeCitations(citations, text);
    assert.deepEqual(
      groundingSupports.map(({ segment }: { segment: { endIndex: number; text?: string } }) => [
        segment.endIndex,
        segment.text?.length,
      ]),
      [
        [80_000, 40_000],
        [80_000, 40_000],
        [80_000, undefined],
        [80_000, undefined],
        [80_000, undefined],
      ],
    );
  });

  test('of a source that is named very often lose its text, and then the others are left out', () => {
    const groundingMetadata = {
      groundingChunks: [{ retrievedContext: { title: 't', text: 's'.repeat(1024 * 1024) } }],
      groundingSupports: Array.from({ length: 100 }, () => ({
        segment: { startIndex: 0, endIndex: 1 },
        groundingChunkIndices: Array.from({ length: 1000 }, () => 0),
      })),
    };
    const citations = decodeCitations({ groundingMetadata }, 'ab', createCitationBudget());
    const whole = citations.filter(({ citedText }) => citedText !== undefined);
    assert.ok(whole.length === 4, String(whole.length));
    assert.ok(citations.length > 10_000 && citations.length < 70_000, String(citations.length));
    assert.deepEqual(citations.at(-1), { title: 't', start: 0, end: 1 });
  });
});
