/** Exact decimal numbers as text: prices are shifted by their digits and never become floating point. */

import { withoutEnd } from '../core/text.ts';

const NUMBER_PATTERN = /^(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?$/;

/** Significant digits that a double represents exactly; more are noise of binary arithmetic. */
const MAX_SIGNIFICANT_DIGITS = 15;

/** Longest number that money can be multiplied by. */
const MAX_CHARACTERS = 1000;

/** Decimals of the money unit, 1e-12 USD. */
const MONEY_DECIMALS = 12;

/** Non-negative number in plain digits, without exponent or redundant zeros; undefined for anything else. */
export function exactDecimal(value: unknown): string | undefined {
  return shiftDecimal(value, 0);
}

/** Moves the decimal point `places` to the right, or to the left if negative. */
export function shiftDecimal(value: unknown, places: number): string | undefined {
  const text = typeof value === 'number' || typeof value === 'string' ? String(value) : '';
  const match = NUMBER_PATTERN.exec(text);
  if (!match) return undefined;
  const [, whole = '', fraction = '', exponent = '0'] = match;
  if (whole + fraction === '') return undefined;
  const decimal = plainDecimal(whole + fraction, Number(exponent) - fraction.length + places);
  return decimal.length > MAX_CHARACTERS ? undefined : decimal;
}

/** Price in USD per token, without the noise of binary arithmetic. */
export function exactPrice(value: unknown): string | undefined {
  const exact = exactDecimal(value);
  return exact === undefined ? undefined : roundNoise(exact);
}

/** Price per token from a price per million tokens. */
export function pricePerToken(perMillion: unknown): string | undefined {
  const exact = shiftDecimal(perMillion, -6);
  return exact === undefined ? undefined : roundNoise(exact);
}

/** A price times a factor, without the noise of a factor such as `1.6666666666666667`. */
export function multiplyPrice(price: string, factor: string): string {
  const [whole = '', fraction = ''] = price.split('.');
  const [times = '', parts = ''] = factor.split('.');
  const digits = String(BigInt(whole + fraction) * BigInt(times + parts));
  return roundNoise(plainDecimal(digits, -fraction.length - parts.length));
}

function roundNoise(value: string): string {
  const [whole = '', fraction = ''] = value.split('.');
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits.length <= MAX_SIGNIFICANT_DIGITS || fraction.length <= MONEY_DECIMALS) return value;
  const cut = fraction.length - MONEY_DECIMALS;
  const unit = 10n ** BigInt(cut);
  return plainDecimal(String((BigInt(whole + fraction) + unit / 2n) / unit), -MONEY_DECIMALS);
}

/** `digits` times ten to the power of `exponent`. */
function plainDecimal(digits: string, exponent: number): string {
  if (exponent >= 0) return (digits + '0'.repeat(exponent)).replace(/^0+(?=\d)/, '');
  const padded = digits.padStart(1 - exponent, '0');
  const whole = padded.slice(0, exponent).replace(/^0+(?=\d)/, '');
  const fraction = withoutEnd(padded.slice(exponent), '0');
  return fraction === '' ? whole : `${whole}.${fraction}`;
}
