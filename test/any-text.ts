/** Arbitrary text of any characters. */

import fc from 'fast-check';

const FIRST_SURROGATE = 0xd800;
const SURROGATES = 0x800;
const LAST_CODE_POINT = 0x10ffff;

/** As the unit `binary` of fast-check, which takes a second of each process to map all characters back for it. */
const character = fc
  .integer({ min: 0, max: LAST_CODE_POINT - SURROGATES })
  .map((number) => String.fromCodePoint(number < FIRST_SURROGATE ? number : number + SURROGATES));

export function anyText(maxLength?: number): fc.Arbitrary<string> {
  return fc.string({ unit: character, ...(maxLength !== undefined && { maxLength }) });
}
