/** Prices are exact, whatever digits and exponents they arrive with. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { exactDecimal, exactPrice, multiplyPrice, pricePerToken, shiftDecimal } from '../../src/catalog/decimal.ts';

const SCALE = 60;

/** The number times 10^60, by whole-number arithmetic only. */
function scaled(text: string): bigint {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return BigInt(whole + fraction) * 10n ** BigInt(SCALE - fraction.length + Number(exponent));
}

const digits = (max: number) => fc.stringMatching(new RegExp(`^[0-9]{1,${max}}$`));
const number = fc
  .tuple(
    digits(6),
    fc.option(digits(12), { nil: undefined }),
    fc.option(fc.integer({ min: -12, max: 12 }), { nil: undefined }),
  )
  .map(
    ([whole, fraction, exponent]) =>
      `${whole}${fraction ? `.${fraction}` : ''}${exponent === undefined ? '' : `e${exponent}`}`,
  );

test('a shift multiplies by a power of ten exactly', () => {
  fc.assert(
    fc.property(number, fc.integer({ min: -12, max: 12 }), (text, places) => {
      const shifted = shiftDecimal(text, places) ?? '';
      assert.equal(scaled(shifted), scaled(`${text.split('e')[0]}e${Number(text.split('e')[1] ?? 0) + places}`));
    }),
  );
});

test('the result is plain: no exponent, no needless zeros', () => {
  fc.assert(fc.property(number, (text) => assert.match(exactDecimal(text) ?? '', /^(0|[1-9]\d*)(\.\d*[1-9])?$/)));
});

test('a price of up to 15 digits per million loses none per token', () => {
  const perMillion = fc.tuple(digits(5), digits(10)).map(([whole, fraction]) => `${whole}.${fraction}`);
  fc.assert(
    fc.property(perMillion, (text) => assert.equal(scaled(pricePerToken(text) ?? '') * 10n ** 6n, scaled(text))),
  );
});

test('a price times a factor is exact', () => {
  const decimal = fc.tuple(digits(3), digits(4)).map(([whole, fraction]) => `${whole}.${fraction}`);
  fc.assert(
    fc.property(decimal, decimal, (price, factor) => {
      assert.equal(scaled(multiplyPrice(price, factor)) * 10n ** BigInt(SCALE), scaled(price) * scaled(factor));
    }),
  );
});

test('a factor that has no end is rounded to the price that it stands for', () => {
  assert.equal(multiplyPrice('0.00000015', '1.6666666666666667'), '0.00000025');
  assert.equal(multiplyPrice('0.0000044', '1.8181818181818182'), '0.000008');
});

test('usual prices', () => {
  assert.equal(pricePerToken(1.25), '0.00000125');
  assert.equal(pricePerToken('10'), '0.00001');
  assert.equal(pricePerToken('0.003625'), '0.000000003625');
  assert.equal(pricePerToken(0), '0');
  assert.equal(exactPrice('1.25e-06'), '0.00000125');
  assert.equal(exactPrice(1.5e-7), '0.00000015');
});

test('the noise of binary arithmetic is rounded to a millionth of a millionth', () => {
  assert.equal(pricePerToken(0.09999999999999999), '0.0000001');
  assert.equal(pricePerToken('3.5999999999999996'), '0.0000036');
  assert.equal(exactPrice('0.000000049999999999999996'), '0.00000005');
});

test('what is not a price is none', () => {
  for (const value of ['-1', '', '.', 'free', null, undefined, {}, Number.NaN, Infinity, -0.5])
    assert.equal(exactPrice(value), undefined);
});
