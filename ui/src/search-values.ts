/** Values in the search of an address, each of one type; undefined for a value of another. */

export type Search = Record<string, unknown>;
/** Text that looks like a number or like a truth value is one in the search of an address. */
export const text = (value: unknown): string | undefined =>
  ['string', 'number', 'boolean'].includes(typeof value) && value !== '' ? String(value) : undefined;
/** JSON in an address is read with it. */
export const json = (value: unknown) => (typeof value === 'object' ? JSON.stringify(value) : text(value));
export const number = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);
export const truth = (value: unknown): true | undefined => (value === true ? true : undefined);
export const oneOf = <Value extends string>(values: readonly Value[], value: unknown): Value | undefined =>
  values.find((one) => one === value);
