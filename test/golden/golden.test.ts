/**
 * Wires by example. A case is a file; what it becomes in each other protocol stands beside it:
 *   requests/<from>/<case>.json    {about, body, rules?, targets?}    -> <case>.to-<protocol>.json  {body, dropped} | {error}
 *   responses/<from>/<case>.json   {about, body}                      -> <case>.to-<protocol>.json
 *   streams/<from>/<case>.sse      the upstream's bytes               -> <case>.to-<protocol>.sse
 * `npm run golden` writes what is missing or changed; read the difference before committing it.
 */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import type { ChatEvent } from '../../src/core/chat.ts';
import { GatewayError } from '../../src/core/errors.ts';
import { unfold } from '../../src/core/fold.ts';
import type { EncoderOptions, Target } from '../../src/core/operation.ts';
import type { Protocol, UpstreamProtocol } from '../../src/core/protocol.ts';
import { parseEvents } from '../../src/core/sse.ts';
import { renameTools } from '../../src/inference/request/tool-names.ts';
import { protocols, upstreamProtocols } from '../../src/protocols/index.ts';
import { problemsOfConverse } from '../corpus/validators/converse.ts';
import { checkStream } from '../validators/index.ts';
import { inlineMedia } from './fields.ts';

const folder = import.meta.dirname;
const update = process.env.GOLDEN === 'update';

const target: Target = { origin: 'upstream/family', model: 'upstream-model', rules: {} };
const options: EncoderOptions = {
  model: 'provider/model',
  created: 1_700_000_000,
  includeUsage: true,
  array: false,
  hideReasoning: false,
};

/** A request of a client that takes state of reasoning. */
const ASKED = { include: ['reasoning.encrypted_content'] };

function casesIn(kind: string, from: string, extension: string): string[] {
  const path = join(folder, kind, from);
  if (!existsSync(path)) return [];
  return readdirSync(path)
    .filter((file) => file.endsWith(extension) && !/\.to-\w+\./.test(file))
    .map((file) => file.slice(0, -extension.length))
    .sort();
}

function expectText(path: string, actual: string): void {
  if (update) writeFileSync(path, actual);
  assert.ok(existsSync(path), `${path} is missing; npm run golden writes it`);
  assert.equal(actual, readFileSync(path, 'utf8'));
}

function expectJson(path: string, actual: unknown): void {
  expectText(path, `${JSON.stringify(actual, null, 2)}\n`);
}

function orError(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { error: { code: error.code, message: error.message, param: error.param } };
  }
}

function others<Other extends UpstreamProtocol>(protocol: UpstreamProtocol, all: readonly Other[]): Other[] {
  return all.filter((other) => other.id !== protocol.id);
}

before(async () => {
  for (const { load } of upstreamProtocols) await load?.();
});

/** Of an encoder, for a client that takes all that there is. */
function optionsFor(client: Protocol): EncoderOptions {
  return { ...options, echo: client.operations.complete.echoOf?.(ASKED) };
}

for (const from of protocols) {
  describe(`requests from ${from.id}`, () => {
    for (const name of casesIn('requests', from.id, '.json')) {
      const file = JSON.parse(readFileSync(join(folder, 'requests', from.id, `${name}.json`), 'utf8'));
      for (const to of others(from, upstreamProtocols)) {
        if (file.targets && !file.targets.includes(to.id)) continue;
        test(`${name} to ${to.id}: ${file.about}`, () => {
          const result = orError(() => {
            from.operations.complete.check(file.body);
            const request = from.operations.complete.decodeRequest(structuredClone(file.body));
            renameTools(request, to.operations.complete.toolName);
            if (to.id === 'converse') inlineMedia(request.turns.flatMap(({ parts }) => parts));
            const encoded = to.operations.complete.encodeRequest(request, { ...target, rules: file.rules ?? {} });
            if (to.id === 'converse')
              assert.deepEqual(problemsOfConverse(JSON.parse(JSON.stringify(encoded.body))), []);
            return { body: encoded.body, dropped: [...request.dropped, ...encoded.dropped.map(from.parameterName)] };
          });
          expectJson(join(folder, 'requests', from.id, `${name}.to-${to.id}.json`), result);
        });
      }
    }
  });
}

for (const from of upstreamProtocols) {
  describe(`responses from ${from.id}`, () => {
    for (const name of casesIn('responses', from.id, '.json')) {
      const file = JSON.parse(readFileSync(join(folder, 'responses', from.id, `${name}.json`), 'utf8'));
      for (const to of others(from, protocols)) {
        test(`${name} to ${to.id}: ${file.about}`, () => {
          const result = orError(() =>
            to.operations.complete.encodeResponse(
              from.operations.complete.decodeResponse(structuredClone(file.body), target),
              optionsFor(to),
            ),
          );
          expectJson(join(folder, 'responses', from.id, `${name}.to-${to.id}.json`), result);
        });
        test(`${name} to ${to.id}, unfolded into a stream, is valid`, () => {
          const encoder = to.operations.complete.streamEncoder(optionsFor(to));
          orError(() => {
            const response = from.operations.complete.decodeResponse(structuredClone(file.body), target);
            const text = [...unfold(response)].map((event) => encoder.encode(event)).join('') + encoder.end();
            checkStream(to.id, text);
          });
        });
      }
    }
  });

  describe(`streams from ${from.id}`, () => {
    for (const name of casesIn('streams', from.id, '.sse')) {
      const bytes = readFileSync(join(folder, 'streams', from.id, `${name}.sse`));
      for (const to of others(from, protocols)) {
        test(`${name} to ${to.id}`, () => {
          const text = translate(from, to, bytes);
          checkStream(to.id, text);
          expectText(join(folder, 'streams', from.id, `${name}.to-${to.id}.sse`), text);
        });
      }
    }
  });
}

/** As the gateway does it: an error of either side ends the stream in the client's words. */
function translate(from: UpstreamProtocol, to: Protocol, bytes: Buffer): string {
  const decoder = from.operations.complete.streamDecoder(target);
  const encoder = to.operations.complete.streamEncoder(optionsFor(to));
  let text = '';
  const encode = (events: ChatEvent[]) => {
    for (const event of events) {
      if (event.type === 'error') throw event.error;
      text += encoder.encode(event);
    }
  };
  try {
    for (const frame of parseEvents(bytes)) encode(decoder.decode(frame));
    encode(decoder.end());
    return text + encoder.end();
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return text + (encoder.fail?.(error) ?? to.operations.complete.encodeStreamError(error, 'req_golden', options));
  }
}
