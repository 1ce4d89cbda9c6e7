import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Type } from 'typebox';
import { GatewayError } from '../../src/core/errors.ts';
import { readBody } from '../../src/core/json/body.ts';
import { checkNames, fold, knownNames } from '../../src/core/json/names.ts';

const names = knownNames([
  Type.Object({
    model: Type.String(),
    max_tokens: Type.Integer(),
    messages: Type.Array(Type.Object({ content: Type.String() })),
    reasoning: Type.Object({ max_tokens: Type.Integer() }),
  }),
]);

/** The path and the words of the refusal; undefined where there is none. */
async function refusal(text: string | Buffer): Promise<[string | undefined, string] | undefined> {
  try {
    await readBody(Buffer.from(text), { names });
    return undefined;
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    assert.equal(error.code, 'invalid_request');
    return [error.param, error.message];
  }
}

const TWICE: [text: string, path: string][] = [
  ['{"model":"a","model":"b"}', 'model'],
  ['{"model" : "a", "model"\n:"a"}', 'model'],
  ['{"model":"a","\\u006dodel":"b"}', 'model'],
  ['{"\\u006Dod\\u0065l":"a","model":"b"}', 'model'],
  ['{"reasoning":{"max_tokens":1,"effort":"low","max_tokens":9}}', 'reasoning.max_tokens'],
  ['{"messages":[{"content":"a"},{"content":"a","content":"b"}]}', 'messages[].content'],
  ['{"x":{"y":[{"z":1,"z":2}]}}', 'x.y[].z'],
  ['{"é":1,"\\u00e9":2}', 'é'],
  ['{"__proto__":1,"__proto__":2}', '__proto__'],
  ['{"":1,"":2}', ''],
];

for (const [text, path] of TWICE) {
  test(`a repeated name is refused: ${text}`, async () => {
    assert.deepEqual(await refusal(text), [path, `${path} is given twice; give it once.`]);
  });
}

const OTHER_CASES: [text: string, path: string, spelling: string][] = [
  ['{"model":"a","MODEL":"b"}', 'MODEL', 'model'],
  ['{"Model":"a"}', 'Model', 'model'],
  ['{"maxTokens":5}', 'maxTokens', 'max_tokens'],
  ['{"max_to\u212aens":5}', 'max_to\u212aens', 'max_tokens'],
  ['{"max_token\u017f":5}', 'max_token\u017f', 'max_tokens'],
  ['{"max_token\\u017F":5}', 'max_token\u017f', 'max_tokens'],
  ['{"reasoning":{"Max_Tokens":1}}', 'reasoning.Max_Tokens', 'max_tokens'],
  ['{"messages":[{"Content":"a"}]}', 'messages[].Content', 'content'],
];

for (const [text, path, spelling] of OTHER_CASES) {
  test(`a name that differs from a known one only in case is refused: ${text}`, async () => {
    assert.deepEqual(await refusal(text), [path, `${path} must be written ${spelling}.`]);
  });
}

test('unknown names and names in client data pass in any case', async () => {
  const body = {
    model: 'model',
    Unknown: { MODEL: 1, model: 2, Model: 3 },
    messages: [
      { content: '{"model":1,"model":2}', extra: { Content: 1, content: 2 } },
      { content: 'a', model: 'x' },
    ],
    tools: [{ parameters: { properties: { id: {}, ID: {}, Id: {} } } }, { parameters: {} }],
  };
  assert.equal(await refusal(JSON.stringify(body)), undefined);
  assert.equal(await refusal(JSON.stringify(body, null, 2)), undefined);
});

test('a name that is too long to be known ends the member before it', async () => {
  const long = JSON.stringify('n'.repeat(1025));
  assert.equal(await refusal(`{"reasoning":null,${long}:{"Max_Tokens":1}}`), undefined);
  assert.deepEqual(await refusal(`{${long}:{"Max_Tokens":1},"reasoning":{"Max_Tokens":1}}`), [
    'reasoning.Max_Tokens',
    'reasoning.Max_Tokens must be written max_tokens.',
  ]);
});

test('an object with many names is checked like a small one', async () => {
  const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`name${index}`, index]));
  assert.equal(await refusal(JSON.stringify({ many })), undefined);
  assert.deepEqual((await refusal(JSON.stringify({ many }).replace('name999', 'name3')))?.[0], 'many.name3');
});

test('many short names are told apart, in one body and in the next', async () => {
  // More names than their texts that are kept, of equal length and with equal bytes in other places.
  const many = Array.from({ length: 6000 }, (_, index) => `n${String(index).padStart(4, '0')}`);
  const body = (repeated: string) => `{${[...many, repeated].map((name) => `"${name}":1`).join(',')}}`;
  for (let round = 0; round < 3; round++) {
    assert.equal(await refusal(body(`other${round}`)), undefined);
    for (const name of [many[round], many[5000 + round]] as string[]) {
      assert.deepEqual(await refusal(body(name)), [name, `${name} is given twice; give it once.`]);
    }
  }
});

test('sought names are found at any depth, however they are written, and only as names', async () => {
  const sought = new Map([
    ['data', 1],
    ['signature', 2],
  ]);
  const filler = 'x'.repeat(200_000);
  for (const [text, found] of [
    ['{"model":"data"}', 0],
    ['{"text":"\\"data\\":1"}', 0],
    ['{"a":[{"b":{"data":1}}]}', 1],
    ['{"a":[{"\\u0064at\\u0061":1}],"signature":""}', 3],
    ['{"a":{},"signature":1}', 2],
  ] as const) {
    for (const body of [text, text.replace('{', `{"filler":"${filler}",`)]) {
      const facts = { found: 0 };
      await readBody(Buffer.from(body), { sought, facts });
      assert.equal(facts.found, found, text);
    }
  }
});

test('a body is checked the same when it is read in slices', async () => {
  const filler = 'x'.repeat(3 * 1024 * 1024);
  assert.equal(await refusal(`{"a":"${filler}","b":"${filler}","model":"c"}`), undefined);
  assert.deepEqual((await refusal(`{"a":"${filler}","b":"${filler}","a":"c"}`))?.[0], 'a');
  assert.deepEqual((await refusal(`{"model":"${filler}","b":"${filler}","mode\\u006c":"c"}`))?.[0], 'model');
});

test('a body passes if and only if no object in it has a name twice', async () => {
  const name = fc.constantFrom('a', 'b', 'c', 'model', 'Z', 'é', '\u017f', '"', '\\');
  const spelling = (text: string) =>
    fc
      .array(fc.boolean(), { minLength: text.length, maxLength: text.length })
      .map((escaped) =>
        [...text]
          .map((letter, index) =>
            escaped[index]
              ? `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`
              : JSON.stringify(letter).slice(1, -1),
          )
          .join(''),
      );
  const { value } = fc.letrec<{ value: { text: string; twice: boolean } }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.jsonValue({ maxDepth: 0 }).map((leaf) => ({ text: JSON.stringify(leaf), twice: false })),
      fc.array(tie('value'), { maxLength: 3 }).map((items) => ({
        text: `[${items.map(({ text }) => text).join(',')}]`,
        twice: items.some(({ twice }) => twice),
      })),
      fc
        .array(
          name.chain((plain) =>
            fc.record({ plain: fc.constant(plain), spelled: spelling(plain), inner: tie('value') }),
          ),
          { maxLength: 4 },
        )
        .map((members) => ({
          text: `{${members.map(({ spelled, inner }) => ` "${spelled}" : ${inner.text}`).join(',')}}`,
          twice:
            new Set(members.map(({ plain }) => plain)).size < members.length ||
            members.some(({ inner }) => inner.twice),
        })),
    ),
  }));
  await fc.assert(
    fc.asyncProperty(value, async ({ text, twice }) => {
      const found = await Promise.resolve()
        .then(() => readBody(Buffer.from(`{"value":${text}}`)))
        .then(
          () => false,
          (error: GatewayError) => error.message.includes('given twice') || assert.fail(error),
        );
      assert.equal(found, twice, text);
    }),
    { numRuns: 500 },
  );
});

test('name folding matches the most tolerant readers', () => {
  for (const name of ['Model', 'MODEL', 'mODEL', 'mod_el']) assert.equal(fold(name), 'model');
  for (const name of ['\u212aind', '\u017fort', 'l\u0131mit', 'L\u0130MIT'])
    assert.match(fold(name), /^(kind|sort|limit)$/, name);
});

test('a parsed value is checked as its text would be', () => {
  checkNames({ model: 1, other: { MODEL: 1 } }, names, 'options');
  assert.throws(
    () => checkNames({ reasoning: [{ MaxTokens: 1 }] }, names, 'options'),
    /options.reasoning.MaxTokens must be/,
  );
});
