/** The sandbox's files are real videos: read back by a parser and a decoder that know only the standards. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { film } from '../../../src/providers/sandbox/video/film.ts';
import { SIZES } from '../../../src/providers/sandbox/video/sizes.ts';
import { decodeFrame, type Frame, readParameters } from './h264.ts';
import { at, readMovie, unescaped } from './mp4.ts';

const FRAMES_PER_SECOND = 24;

for (const [index, size] of SIZES.entries()) {
  const seconds = (index % 10) + 1;
  describe(`${size}, ${seconds} s`, () => {
    const [width = 0, height = 0] = size.split('x').map(Number);
    const file = film({ size: { width, height }, seconds, shade: index });
    const movie = readMovie(file);

    test('says its size and length, one frame after the other', () => {
      assert.deepEqual([movie.width, movie.height, movie.seconds], [width, height, seconds]);
      assert.equal(movie.frames.length, seconds * FRAMES_PER_SECOND);
    });

    test('can be entered at every second', () => {
      for (const [position, { type, key }] of movie.frames.entries()) {
        assert.equal(key, position % FRAMES_PER_SECOND === 0);
        assert.equal(type, key ? 5 : 1);
      }
    });

    test('has a configuration that says what the video is', () => {
      const configuration = configurationOf(file);
      const length = configuration.readUInt16BE(6);
      const sequence = configuration.subarray(8, 8 + length);
      assert.deepEqual(configuration.subarray(1, 4), sequence.subarray(1, 4));
      assert.equal(sequence[0], 0x67);
      const parameters = readParameters(unescaped(sequence.subarray(1)));
      assert.deepEqual([parameters.width, parameters.height], [width, height]);
      assert.equal(configuration[8 + length], 1);
      assert.equal(configuration.length, 8 + length + 3 + configuration.readUInt16BE(9 + length));
    });

    test('decodes to a bar that grows from second to second', () => {
      const parameters = readParameters(unescaped(configurationOf(file).subarray(9)));
      let frame: Frame = [];
      const bars: number[] = [];
      for (const unit of movie.frames) {
        frame = decodeFrame(unit, parameters, frame);
        if (unit.key) bars.push(frame.filter((colour) => colour !== frame[0]).length);
      }
      assert.equal(frame.length, parameters.columns * parameters.rows);
      assert.deepEqual(
        bars,
        [...bars].sort((one, other) => one - other),
      );
      assert.equal(new Set(bars).size, seconds);
    });
  });
}

function configurationOf(file: Buffer): Buffer {
  const description = at(file, 'moov/trak/mdia/minf/stbl/stsd').subarray(8);
  assert.equal(description.toString('latin1', 4, 8), 'avc1');
  return at(description.subarray(8 + 78), 'avcC');
}

test('the same film has the same bytes, another shade others', () => {
  const size = { width: 480, height: 480 };
  const plain = film({ size, seconds: 2, shade: 1 });
  assert.ok(plain.equals(film({ size, seconds: 2, shade: 1 })));
  assert.ok(!plain.equals(film({ size, seconds: 2, shade: 2 })));
});
