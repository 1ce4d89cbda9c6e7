/** Messages in pieces, for the parsers of requests and responses. */

import assert from 'node:assert/strict';
import fc from 'fast-check';

export interface PausedParser {
  read(bytes: Buffer): void;
  resume(): void;
}

export function cut(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
}

/** `parserOf` makes a parser, which pauses at each event if it is told to, and its result: the body, once it is complete. */
export function checkAnyChunks(
  head: string,
  parserOf: (pauses: boolean) => { parser: PausedParser; body(): string | undefined },
): void {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 8 }),
      fc.boolean(),
      (contents, sizes, pauses) => {
        const chunks = contents.map((content) => {
          const size = content.length.toString(16);
          return Buffer.concat([Buffer.from(`${size}\r\n`), content, Buffer.from('\r\n')]);
        });
        const bytes = Buffer.concat([Buffer.from(head), ...chunks, Buffer.from('0\r\n\r\n')]);
        const { parser, body } = parserOf(pauses);
        for (let at = 0, index = 0; at < bytes.length; index++) {
          const size = sizes[index % sizes.length] ?? 1;
          parser.read(Buffer.from(bytes.subarray(at, at + size)));
          at += size;
          if (pauses) parser.resume();
        }
        for (let turn = 0; pauses && turn < 100 && body() === undefined; turn++) parser.resume();
        assert.equal(body(), Buffer.concat(contents).toString('latin1'));
      },
    ),
    { numRuns: 500 },
  );
}
