/**
 * Colours of series in the style sheet: each is far from all others for normal sight and for the three kinds of colour
 * blindness (Machado, Oliveira and Fernandes 2009, severity 1), and stands out from its background (WCAG 1.4.11).
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

/** CIEDE2000; two colours with 2 are told apart side by side, those of a chart are apart from each other. */
const LEAST_DISTANCE = 13;
const LEAST_CONTRAST = 3;

type Three = readonly [number, number, number];
type Matrix = readonly [Three, Three, Three];

/** Of linear RGB. */
const SIGHTS: Record<string, Matrix> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protan: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deutan: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritan: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};
/** To XYZ, of which Y is the luminance. */
const XYZ: Matrix = [
  [0.4124564, 0.3575761, 0.1804375],
  [0.2126729, 0.7151522, 0.072175],
  [0.0193339, 0.119192, 0.9503041],
];
const WHITE: Three = [0.95047, 1, 1.08883];

const styles = readFileSync(join(import.meta.dirname, '../src/theme.css'), 'utf8');

/** Values of the tokens of a block. */
function tokensOf(selector: string): Map<string, string> {
  const [, block = ''] = styles.split(`\n${selector} {`);
  const lines = block.slice(0, block.indexOf('}')).matchAll(/--([\w-]+): (#[0-9a-f]{6});/g);
  return new Map([...lines].map(([, name = '', value = '']) => [name, value]));
}

const times = (matrix: Matrix, [a, b, c]: Three): Three =>
  matrix.map(([x, y, z]) => x * a + y * b + z * c) as unknown as Three;

function linearOf(hex: string): Three {
  const parts = [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255);
  return parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)) as unknown as Three;
}

function labOf(linear: Three): Three {
  const [x, y, z] = times(XYZ, linear).map((part, index) => {
    const share = part / (WHITE[index] ?? 1);
    return share > 216 / 24389 ? Math.cbrt(share) : ((24389 / 27) * share + 16) / 116;
  }) as unknown as Three;
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const radians = (degrees: number) => (degrees * Math.PI) / 180;
const hueOf = (a: number, b: number) => ((Math.atan2(b, a) * 180) / Math.PI + 360) % 360;

/** CIEDE2000 between two colours of CIELAB. */
function distanceOf([l1, a1, b1]: Three, [l2, a2, b2]: Three): number {
  const mean = (Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2;
  const grey = 1.5 - 0.5 * Math.sqrt(mean ** 7 / (mean ** 7 + 25 ** 7));
  const [chroma1, chroma2] = [Math.hypot(a1 * grey, b1), Math.hypot(a2 * grey, b2)];
  const [hue1, hue2] = [hueOf(a1 * grey, b1), hueOf(a2 * grey, b2)];
  const turn = ((hue2 - hue1 + 540) % 360) - 180;
  const [light, chroma, hue] = [(l1 + l2) / 2, (chroma1 + chroma2) / 2, (hue1 + turn / 2 + 360) % 360];
  const weight =
    1 -
    0.17 * Math.cos(radians(hue - 30)) +
    0.24 * Math.cos(radians(2 * hue)) +
    0.32 * Math.cos(radians(3 * hue + 6)) -
    0.2 * Math.cos(radians(4 * hue - 63));
  const byLight = (l2 - l1) / (1 + (0.015 * (light - 50) ** 2) / Math.sqrt(20 + (light - 50) ** 2));
  const byChroma = (chroma2 - chroma1) / (1 + 0.045 * chroma);
  const byHue = (2 * Math.sqrt(chroma1 * chroma2) * Math.sin(radians(turn / 2))) / (1 + 0.015 * chroma * weight);
  const blue = 60 * Math.exp(-(((hue - 275) / 25) ** 2));
  const rotation = -2 * Math.sqrt(chroma ** 7 / (chroma ** 7 + 25 ** 7)) * Math.sin(radians(blue));
  return Math.sqrt(byLight ** 2 + byChroma ** 2 + byHue ** 2 + rotation * byChroma * byHue);
}

function contrastOf(one: string, other: string): number {
  const [bright = 1, dark = 0] = [one, other].map((hex) => times(XYZ, linearOf(hex))[1]).toSorted((a, b) => b - a);
  return (bright + 0.05) / (dark + 0.05);
}

/** As somebody with such sight sees it. */
function seen(hex: string, sight: Matrix): Three {
  return labOf(times(sight, linearOf(hex)).map((part) => Math.min(1, Math.max(0, part))) as unknown as Three);
}

test('the distance is that of the published pairs', () => {
  // Sharma, Wu and Dalal 2005, table 1: pairs 1, 7, 17 and 25.
  for (const [one, other, distance] of [
    [[50, 2.6772, -79.7751], [50, 0, -82.7485], 2.0425],
    [[50, 0, 0], [50, -1, 2], 2.3669],
    [[50, 2.5, 0], [73, 25, -18], 27.1492],
    [[60.2574, -34.0099, 36.2677], [60.4626, -34.1751, 39.4387], 1.2644],
  ] as [Three, Three, number][]) {
    assert.equal(distanceOf(one, other).toFixed(4), distance.toFixed(4));
  }
});

for (const [theme, selector] of [
  ['light', ':root'],
  ['dark', '[data-theme="dark"]'],
] as const) {
  const tokens = tokensOf(selector);
  const series = [...tokens].filter(([name]) => name.startsWith('series-'));

  test(`there are eight series and the others, in the ${theme} theme`, () => {
    const names = series.map(([name]) => name);
    assert.deepEqual(names, [...[1, 2, 3, 4, 5, 6, 7, 8].map((number) => `series-${number}`), 'series-other']);
  });

  for (const [name, sight] of Object.entries(SIGHTS)) {
    test(`series are apart from each other for ${name} sight, in the ${theme} theme`, () => {
      for (const [index, [one, first]] of series.entries()) {
        for (const [other, second] of series.slice(index + 1)) {
          const distance = distanceOf(seen(first, sight), seen(second, sight));
          assert.ok(distance >= LEAST_DISTANCE, `${one} and ${other}: ${distance.toFixed(1)}`);
        }
      }
    });
  }

  test(`series stand out from what is behind them, in the ${theme} theme`, () => {
    for (const [name, value] of series) {
      for (const background of ['surface', 'page', 'raised']) {
        const contrast = contrastOf(value, tokens.get(background) ?? '');
        assert.ok(contrast >= LEAST_CONTRAST, `${name} on ${background}: ${contrast.toFixed(2)}`);
      }
    }
  });
}
