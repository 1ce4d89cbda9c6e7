/** Decodes the little of H.264 that the sandbox writes, following the standard and not the writer. */

import assert from 'node:assert/strict';

export interface Parameters {
  columns: number;
  rows: number;
  width: number;
  height: number;
}

/** Every block has one colour, so a picture is a list of colours, row by row. */
export type Frame = string[];

interface Bits {
  take(count: number): number;
  golomb(): number;
  align(): void;
  /** How many bits have been read. */
  position(): number;
}

function bitsOf(bytes: Buffer): Bits {
  let position = 0;
  function take(count: number): number {
    let value = 0;
    for (let index = 0; index < count; index++, position++) {
      assert.ok(position < bytes.length * 8, 'the unit goes on');
      value = value * 2 + (((bytes[position >> 3] ?? 0) >> (7 - (position & 7))) & 1);
    }
    return value;
  }
  return {
    take,
    golomb() {
      let zeros = 0;
      while (take(1) === 0) zeros++;
      return 2 ** zeros - 1 + take(zeros);
    },
    align() {
      while (position % 8 !== 0) assert.equal(take(1), 0);
    },
    position: () => position,
  };
}

export function readParameters(payload: Buffer): Parameters {
  const bits = bitsOf(payload);
  assert.deepEqual([bits.take(8), bits.take(8), bits.take(8)], [66, 0xc0, 40]);
  assert.deepEqual([bits.golomb(), bits.golomb(), bits.golomb(), bits.golomb(), bits.take(1)], [0, 0, 2, 1, 0]);
  const [columns, rows] = [bits.golomb() + 1, bits.golomb() + 1];
  assert.equal(bits.take(3), 0b111);
  const [left, right, top, bottom] = [bits.golomb(), bits.golomb(), bits.golomb(), bits.golomb()];
  assert.equal(bits.take(1), 0);
  return { columns, rows, width: 16 * columns - 2 * (left + right), height: 16 * rows - 2 * (top + bottom) };
}

/** A frame after the one before it. Fails on whatever does not end exactly where the unit does. */
export function decodeFrame(unit: { type: number; payload: Buffer }, size: Parameters, before: Frame): Frame {
  const bits = bitsOf(unit.payload);
  const key = unit.type === 5;
  assert.deepEqual([bits.golomb(), bits.golomb(), bits.golomb()], [0, key ? 7 : 5, 0]);
  bits.take(4);
  if (key) bits.golomb();
  assert.equal(bits.take(key ? 2 : 3), 0);
  assert.deepEqual([bits.golomb(), bits.golomb()], [0, 1]);
  const frame = key ? decodeBlocks(bits, unit.payload, size) : before;
  if (!key) assert.equal(bits.golomb(), size.columns * size.rows);
  assert.equal(bits.take(1), 1);
  bits.align();
  assert.equal(bits.position(), unit.payload.length * 8);
  return frame;
}

function decodeBlocks(bits: Bits, payload: Buffer, { columns, rows }: Parameters): Frame {
  const frame: Frame = [];
  const coefficients: number[] = [];
  for (let at = 0; at < columns * rows; at++) {
    const left = at % columns > 0 ? at - 1 : undefined;
    const above = at >= columns ? at - columns : undefined;
    const type = bits.golomb();
    if (type === 25) {
      bits.align();
      const start = bits.position() / 8;
      const samples = payload.subarray(start, start + 384);
      const colour = [samples[0], samples[256], samples[320]];
      const flat = Buffer.concat([256, 64, 64].map((count, index) => Buffer.alloc(count, colour[index])));
      assert.ok(flat.equals(samples));
      bits.take(384 * 8);
      frame.push(String(colour));
      coefficients.push(16);
      continue;
    }
    assert.ok(type === 1 || type === 2, `a block of type ${type}`);
    assert.equal(bits.golomb(), type === 2 ? 1 : 2);
    assert.equal(bits.golomb(), 0);
    const near = [left, above].flatMap((other) => (other === undefined ? [] : [coefficients[other] ?? 0]));
    const expected = near.length === 2 ? ((near[0] ?? 0) + (near[1] ?? 0) + 1) >> 1 : (near[0] ?? 0);
    assert.equal(expected < 2 ? bits.take(1) : bits.take(6), expected < 2 ? 1 : 3);
    const source = type === 2 ? left : above;
    assert.ok(source !== undefined, 'predicted from a block that is there');
    frame.push(frame[source] ?? '');
    coefficients.push(0);
  }
  return frame;
}
