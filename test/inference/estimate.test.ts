/** The estimate stays near what tokenizers count and grows with what is sent. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { ChatRequest, Part } from '../../src/core/chat.ts';
import { estimateOutput, estimateTokens } from '../../src/inference/tokens/estimate.ts';
import { anyText } from '../any-text.ts';

function requestOf(parts: Part[], more: Partial<ChatRequest> = {}): ChatRequest {
  return { stream: false, turns: [{ role: 'user', parts }], tools: [], dropped: [], ...more };
}

const empty = estimateTokens(requestOf([]));
const costOf = (part: Part) => estimateTokens(requestOf([part])) - empty;

describe('estimateOutput', () => {
  // The ranges span what the tokenizers of several providers count.
  const texts: [string, number, number][] = [
    ['', 0, 0],
    ['ok', 1, 1],
    ['The quick brown fox jumps over the lazy dog.', 9, 12],
    [
      'The weather in Paris is currently sunny with a temperature of 21 degrees, so you can leave your umbrella at home.',
      22,
      26,
    ],
    [
      'Photosynthesis is the process by which plants convert sunlight, water and carbon dioxide into glucose and oxygen.',
      18,
      22,
    ],
    ['const total = items.reduce((sum, item) => sum + item.price, 0);', 14, 24],
    ['{"city":"Paris","temperature":21,"unit":"celsius"}', 13, 24],
    ['敏捷的棕色狐狸跳过了懒狗。', 9, 20],
    ['素早い茶色の狐がのろまな犬を飛び越える', 13, 24],
    ['Съешь же ещё этих мягких французских булок', 12, 24],
    ['🙂🙂🙂', 3, 9],
    ['3.14159265358979', 5, 16],
  ];
  for (const [text, least, most] of texts) {
    test(`${JSON.stringify(text)} is ${least} to ${most} tokens`, () => {
      const tokens = estimateOutput(text);
      assert.ok(tokens >= least && tokens <= most, `${tokens}`);
    });
  }

  // The most that o200k_base, cl100k_base, and the tokenizers of Claude 2 and Gemma 3 count.
  const costly: [string, string, number][] = [
    ['random letters', 'yorrqeytlsisotlflrnwkytdrjjuuedkwsngkwvj', 22],
    ['random capitals', 'VIBLAJRDDCROSUKYOKRDNEHNXKKKGOPMOONOWAFI', 22],
    ['letters of either case', 'cfsOTyDpzlinEVRYXDxuEAhoUjeUdBxFtWZFWOxR', 26],
    ['cases in turn', 'iYzBbWpKuLfEwTtEdDtLiWdIdIeEtJnNnEeKyLuS', 32],
    ['consonants', 'ntkvxcnszzlwqlrxfqldkbscfgrszvjdghwjdfpd', 22],
    ['syllables', 'vuduruwugawumohekusufovodahibebudamohucu', 21],
    ['pairs of letters as English has them', 'natonbythetosesathinayvofolfultitincefth', 17],
    ['short random words', 'qvbq plqe ugoi atca jhzl xmjl wwqh ypie ', 21],
    ['capitals in random letters', 'OpoiSoszKfiaQdrxPvkuEneeSwmmJnwtOclcPytw', 25],
    ['base64', 'TD1ITahiS5FVSHz8h53UZojwN0xwELNqApCbr1vl', 29],
    ['hex', '269f80938c6e4237791b5fb0c2d693fee1ddfe9a', 35],
    ['digits', '0203759269349008705849021888602707852133', 40],
    ['marks', "&(=);&!^~\\($_<(=`?>;..''$@#>//([/=+.[?${", 27],
    ['letters and marks in turn', 't.i.y.b.d.m.w.j.t.j.x.f.q.w.a.a.j.k.v.h.', 40],
    ['control characters', '\x07\x05\x12\x1d\x03\x14\x0e\x1a\x04\x02\x0b\x16\x01\x1e\x11\x15\x1b\x08\x1f\x06', 20],
    ['marks of width zero', '\u200d\u200c\u200d\u200f\u200e\u200d\u200b\u200c\u200d\u200f', 17],
    ['arrows', '⇡⇖⇖↢⇶↝↣↦↣↟⇟↕↠⇬↧↝↛↽↢⇢⇿↙⇪↶⇧⇎⇷↺⇳↰↸↾↸⇦⇤⇎↝↬↩↣', 96],
    ['Braille', '⢓⠮⡬⣈⢧⠼⡆⢧⣢⡮⢡⢠⣍⢋⣥⢥⣥⣽⡙⠪⠎⣼⢁⣅⣼⣽⡍⢞⢮⡩⡣⠪⡏⣚⣨⠼⠅⡨⢅⡵', 120],
    ['letters with accents', 'ľņŽČĆŝĴŢŝŝėĐņőłſĈĴĺŰěļĚģŤŋŹŸņġħŊĸśĄźġĊľŅ', 74],
    ['Cyrillic letters', 'фБЦпЧщвшУЗГГгйягСдкдсобРЬзЬЩщЬзНЙОусСОъБ', 45],
    ['Chinese characters', '掬茦轥纟襽鸯鉡俶視曌塏楩樱半媕踤澤橽匎罘險茌攳鈤鷴鐏瀧鱋柝裣郖把醺晣緈鹌傚属髑邛', 98],
    ['Korean syllables', '퓺쩟만뺎쬢삭롑푗짠촘귯녵쒊묜딻쵦퉞붢펍쁼숇넨쾁냜쭤넹컒깥뎣핱쎝닻먔꽷퍪쩠뇎뜅헪쐭', 106],
    ['emoji', '🐯🎁😞👻🍈🌺🖿😃🗩👓🔜🎐🖮🐯😂🏒💰🗾👇🔷🕫🗾🔫🔤🌿🎢🙋🏠🏗🖚🗙📛👥🖥🕥🔓👴🖗🎵🍾', 116],
    ['hieroglyphs', '𓍎𓀔𓐏𓏏𓃼𓎃𓌽𓁵𓁙𓂌𓉎𓐨𓍀𓇧𓀴𓅩𓋣𓎅𓅊𓏅𓊔𓈪𓄧𓈏𓆺𓅥𓏷𓋰𓏄𓏌𓄶𓏻𓅫𓌖𓅷𓌟𓀶𓍪𓄷𓄤', 160],
  ];
  for (const [name, text, most] of costly) {
    test(`is at least a quarter of what any tokenizer counts of ${name}`, () => {
      const tokens = estimateOutput(text);
      assert.ok(tokens * 4 >= most && tokens <= most * 1.5, `${tokens} of ${most}`);
    });
  }

  test('is a whole number that grows with the text and never exceeds twice its length', () => {
    fc.assert(
      fc.property(anyText(), anyText(), (one, other) => {
        const tokens = estimateOutput(one + other);
        return Number.isInteger(tokens) && tokens >= estimateOutput(one) - 1 && tokens <= 2 * (one + other).length;
      }),
    );
  });
});

describe('estimateTokens', () => {
  test('counts every part of a request', () => {
    const text: Part = { type: 'text', text: 'What is the weather in Paris?' };
    assert.ok(costOf(text) >= 6 && costOf(text) <= 9);
    assert.ok(costOf({ type: 'call', id: '1', name: 'weather', args: '{"city":"Paris"}' }) > 8);
    assert.ok(costOf({ type: 'result', callId: '1', parts: [text] }) > costOf(text));
    const tool = {
      name: 'weather',
      description: 'The weather of a city',
      parameters: { type: 'object', properties: { city: { type: 'string' } } },
    };
    assert.ok(estimateTokens(requestOf([], { tools: [tool] })) > empty + 20);
    assert.ok(estimateTokens(requestOf([], { format: { type: 'schema', schema: tool.parameters } })) > empty + 5);
  });

  for (const [name, length, count] of [
    ['long', 40_000, 30],
    ['short', 20, 60_000],
  ] as const) {
    test(`counts many ${name} texts behind those that it reads whole, whatever these are`, () => {
      const cheap: Part[] = Array.from({ length: 17 }, () => ({ type: 'text', text: 'a'.repeat(131_000) }));
      const dear: Part[] = Array.from({ length: count }, () => ({ type: 'text', text: '🙂'.repeat(length / 2) }));
      const apart = estimateTokens(requestOf(cheap)) + estimateTokens(requestOf(dear));
      const together = estimateTokens(requestOf([...cheap, ...dear]));
      assert.ok(Math.abs(together / apart - 1) < 0.25, `${together} of ${apart} tokens`);
    });
  }

  test('takes an image by its detail, not by its bytes', () => {
    const image = (detail: 'low' | 'high', data: string): Part => ({ type: 'media', kind: 'image', detail, data });
    assert.equal(costOf(image('low', 'x'.repeat(1_000_000))), costOf(image('low', 'x')));
    assert.ok(costOf(image('high', 'x')) > costOf(image('low', 'x')));
  });

  test('takes other media by their bytes where they are known', () => {
    const data = 'x'.repeat(40_000);
    assert.equal(costOf({ type: 'media', kind: 'document', mime: 'application/pdf', data }), 600);
    assert.equal(costOf({ type: 'media', kind: 'document', mime: 'text/csv', data }), 7_500);
    assert.equal(costOf({ type: 'media', kind: 'audio', mime: 'audio/mpeg', data }), 60);
    assert.ok(costOf({ type: 'media', kind: 'video', url: 'https://example.com/a.mp4' }) > 1_000);
  });

  test('takes sound that is not compressed by its seconds', () => {
    const wav = (rate: number, seconds: number): Part => {
      const bytes = Buffer.alloc(44 + 2 * rate * seconds);
      bytes.write('RIFF    WAVEfmt ', 'latin1');
      bytes.writeUInt16LE(1, 20);
      bytes.writeUInt16LE(1, 22);
      bytes.writeUInt32LE(rate, 24);
      bytes.writeUInt16LE(16, 34);
      return { type: 'media', kind: 'audio', mime: 'audio/wav', data: bytes.toString('base64') };
    };
    for (const rate of [8_000, 48_000]) {
      const tokens = costOf(wav(rate, 10));
      assert.ok(tokens >= 320 && tokens <= 322, `${tokens} at ${rate} Hz`);
    }
  });
});
