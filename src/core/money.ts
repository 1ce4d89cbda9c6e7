/** Money: integers of 1e-12 USD internally, decimal strings externally, never floating point. */

import { withoutEnd } from './text.ts';

const MONEY_DECIMALS = 12;
const UNITS_PER_USD = 10n ** BigInt(MONEY_DECIMALS);
/** The time to parse a decimal grows faster than its length. */
const MAX_DECIMAL_CHARACTERS = 1000;
const DECIMAL_PATTERN = /^(-?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?$/;

/** Largest 64-bit integer: about nine million USD. */
const MAX_MONEY = 2n ** 63n - 1n;

interface Scaled {
  /** All digits as an integer, with its sign. */
  digits: bigint;
  /** Number of digits after the point; negative for trailing zeros. */
  places: number;
}

/** Parses a decimal, rounded half away from zero. Throws RangeError for an invalid or too large number. */
export function moneyOf(decimal: string): bigint {
  return multiplyMoney(UNITS_PER_USD, decimal);
}

/** Decimal without exponent and redundant zeros: `3.2`, `0`. */
export function decimalOf(money: bigint): string {
  const sign = money < 0n ? '-' : '';
  const digits = String(money < 0n ? -money : money).padStart(MONEY_DECIMALS + 1, '0');
  const fraction = withoutEnd(digits.slice(-MONEY_DECIMALS), '0');
  const whole = digits.slice(0, -MONEY_DECIMALS);
  return sign + (fraction === '' ? whole : `${whole}.${fraction}`);
}

/** `factor` is a decimal, e.g. a number of seconds or tokens; rounded half away from zero. Throws RangeError as above. */
export function multiplyMoney(money: bigint, factor: string): bigint {
  const result = multiplyExact(money, factor);
  if (result > MAX_MONEY || result < -MAX_MONEY) throw new RangeError(`${factor} is beyond what can be counted.`);
  return result;
}

/** Prices of one piece in money, of those that are a whole number; prices are few, and each request needs several. */
const wholePrices = new Map<string, bigint>();
const MAX_WHOLE_PRICES = 2000;

/** Cost of `count` units at a decimal price, without an upper bound. Throws RangeError for an invalid price. */
export function priceOfPieces(count: number, price: string): bigint {
  const whole = wholePrices.get(price) ?? wholePriceOf(price);
  return whole === undefined ? multiplyExact(BigInt(count) * UNITS_PER_USD, price) : BigInt(count) * whole;
}

function wholePriceOf(price: string): bigint | undefined {
  const { digits, places } = parseScaled(price);
  if (places < 0 || places > MONEY_DECIMALS) return undefined;
  if (wholePrices.size >= MAX_WHOLE_PRICES) wholePrices.clear();
  const whole = digits * 10n ** BigInt(MONEY_DECIMALS - places);
  wholePrices.set(price, whole);
  return whole;
}

function multiplyExact(money: bigint, factor: string): bigint {
  const { digits, places } = parseScaled(factor);
  const product = money * digits;
  return places <= 0 ? product * 10n ** BigInt(-places) : divideRounded(product, 10n ** BigInt(places));
}

export function minBigInt(first: bigint, ...others: bigint[]): bigint {
  let least = first;
  for (const other of others) if (other < least) least = other;
  return least;
}

export function maxBigInt(first: bigint, ...others: bigint[]): bigint {
  let most = first;
  for (const other of others) if (other > most) most = other;
  return most;
}

function divideRounded(dividend: bigint, divisor: bigint): bigint {
  const half = dividend < 0n ? -(divisor / 2n) : divisor / 2n;
  return (dividend + half) / divisor;
}

function parseScaled(decimal: string): Scaled {
  if (decimal.length > MAX_DECIMAL_CHARACTERS)
    throw new RangeError(`A number of ${decimal.length} characters is too long.`);
  const match = DECIMAL_PATTERN.exec(decimal);
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match ?? [];
  if (!match || whole + fraction === '') throw new RangeError(`"${decimal}" is no decimal number.`);
  return { digits: BigInt(sign + whole + fraction), places: fraction.length - Number(exponent) };
}
