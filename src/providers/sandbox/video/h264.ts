/**
 * H.264 encoder (ITU-T H.264, constrained baseline) for blocks of one colour: a block with the colour of its neighbour is
 * predicted from it, any other contains its samples uncompressed, and a repeated frame skips all blocks.
 */

import { type BitWriter, bitWriter } from './bits.ts';

/** Luma (16 to 235) and the two chroma values (16 to 240). */
export type Colour = readonly [number, number, number];

export interface Size {
  /** Pixels; an even number. */
  width: number;
  height: number;
}

/** Colour of each block of 16 by 16 pixels; returns the same object for the same colour. */
export type Picture = (column: number, row: number) => Colour;

const BLOCK = 16;
const BASELINE = 66;
/** Constraint flags: compatible with the constrained baseline profile. */
const CONSTRAINTS = 0xc0;
/** Level 4: up to 1920x1080, in either direction, at 30 frames a second. */
const LEVEL = 40;

const FRAME_NUMBER_BITS = 4;
const ALL_INTRA = 7;
const ALL_PREDICTED = 5;

type Unit = 'predicted' | 'key' | 'sequence' | 'picture';

/** NAL unit header: reference priority and type. */
const HEADERS: Record<Unit, number> = { predicted: 0x61, key: 0x65, sequence: 0x67, picture: 0x68 };

/** Sequence parameter set: the size of the pictures. */
export function sequenceParameters({ width, height }: Size): Buffer {
  const [columns, rows] = [blocks(width), blocks(height)];
  const out = bitWriter();
  for (const value of [BASELINE, CONSTRAINTS, LEVEL]) out.bits(value, 8);
  out.golomb(0);
  out.golomb(FRAME_NUMBER_BITS - 4);
  out.golomb(2); // Pictures are shown in the order of the stream.
  out.golomb(1); // One reference frame,
  out.bits(0, 1); // no gaps in their numbers.
  out.golomb(columns - 1);
  out.golomb(rows - 1);
  out.bits(0b11, 2); // Whole frames; 8x8 inference.
  out.bits(1, 1); // Cropped to the size, in steps of two pixels:
  for (const cut of [0, columns * BLOCK - width, 0, rows * BLOCK - height]) out.golomb(cut / 2);
  out.bits(0, 1); // No hints on display.
  return unit('sequence', out);
}

/** Picture parameter set, with the simplest coding tools. */
export function pictureParameters(): Buffer {
  const out = bitWriter();
  for (const id of [0, 0]) out.golomb(id);
  out.bits(0, 2); // Variable-length codes; no fields.
  for (const count of [0, 0, 0]) out.golomb(count); // One slice group, one reference.
  out.bits(0, 3); // No weights.
  for (const offset of [0, 0, 0]) out.golomb(offset); // Quantisers as they are.
  out.bits(0b100, 3); // Deblocking can be switched off; nothing constrained, nothing redundant.
  return unit('picture', out);
}

/** Key frame. `parity` differs between two consecutive key frames. */
export function keyFrame({ width, height }: Size, picture: Picture, parity: 0 | 1): Buffer {
  const out = bitWriter();
  for (const value of [0, ALL_INTRA, 0]) out.golomb(value);
  out.bits(0, FRAME_NUMBER_BITS);
  out.golomb(parity);
  out.bits(0, 2); // Neither held back nor kept for long.
  withoutDeblocking(out);
  writeBlocks(out, { columns: blocks(width), rows: blocks(height) }, picture);
  return unit('key', out);
}

/** Frame identical to the previous one, `distance` frames after the last key frame. */
export function repeatedFrame({ width, height }: Size, distance: number): Buffer {
  const out = bitWriter();
  for (const value of [0, ALL_PREDICTED, 0]) out.golomb(value);
  out.bits(distance, FRAME_NUMBER_BITS);
  out.bits(0, 3); // The usual references, in the usual order, forgotten in the usual order.
  withoutDeblocking(out);
  out.golomb(blocks(width) * blocks(height));
  return unit('predicted', out);
}

function withoutDeblocking(out: BitWriter): void {
  out.golomb(0);
  out.golomb(1);
}

function blocks(pixels: number): number {
  return Math.ceil(pixels / BLOCK);
}

interface Grid {
  columns: number;
  rows: number;
}

/** Block type and chroma prediction of 16x16 intra blocks without residual. */
const FROM_LEFT = { type: 2, chroma: 1 };
const FROM_ABOVE = { type: 1, chroma: 2 };
const SAMPLES = 25;

function writeBlocks(out: BitWriter, { columns, rows }: Grid, picture: Picture): void {
  const whole = new Set<number>();
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const at = row * columns + column;
      const colour = picture(column, row);
      const left = column > 0 && picture(column - 1, row) === colour;
      const above = row > 0 && picture(column, row - 1) === colour;
      if (left || above) {
        const nearWhole = (column > 0 && whole.has(at - 1)) || (row > 0 && whole.has(at - columns));
        writePredicted(out, left ? FROM_LEFT : FROM_ABOVE, nearWhole);
      } else {
        whole.add(at);
        writeSamples(out, colour);
      }
    }
  }
}

/** "No coefficients" has a longer code next to a block of samples, which counts as one with all coefficients. */
function writePredicted(out: BitWriter, { type, chroma }: typeof FROM_LEFT, nearWhole: boolean): void {
  for (const value of [type, chroma, 0]) out.golomb(value);
  out.bits(nearWhole ? 0b000011 : 1, nearWhole ? 6 : 1);
}

function writeSamples(out: BitWriter, [brightness, blue, red]: Colour): void {
  out.golomb(SAMPLES);
  out.align();
  const quarter = (BLOCK / 2) ** 2;
  for (const [value, count] of [
    [brightness, BLOCK ** 2],
    [blue, quarter],
    [red, quarter],
  ] as const)
    out.bytes(new Uint8Array(count).fill(value));
}

/** NAL unit: header and payload, with an emulation prevention byte 3 wherever two zeros precede a byte up to 3. */
function unit(type: Unit, payload: BitWriter): Buffer {
  const bytes = [HEADERS[type]];
  let zeros = 0;
  for (const byte of payload.finish()) {
    if (zeros >= 2 && byte <= 3) {
      bytes.push(3);
      zeros = 0;
    }
    bytes.push(byte);
    zeros = byte === 0 ? zeros + 1 : 0;
  }
  return Buffer.from(bytes);
}
