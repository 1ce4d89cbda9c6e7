/** Members and events of tomorrow pass a gateway between a client and an upstream of one protocol, whole and streamed. */

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import fc from 'fast-check';
import { Cancellation } from '../../src/core/cancellation.ts';
import { isObject, type Json } from '../../src/core/json/json.ts';
import { ENVELOPE_MARK } from '../../src/core/opaque.ts';
import type { Protocol } from '../../src/core/protocol.ts';
import { parseEvents } from '../../src/core/sse.ts';
import { plan } from '../../src/inference/request/plan.ts';
import { createStateMemory } from '../../src/inference/state/memory.ts';
import { protocols, upstreamProtocols } from '../../src/protocols/index.ts';
import { answersOf } from './answers/index.ts';
import { bareProvider, callOf, deliver, endpointAt } from './delivery.ts';
import { piecesOf } from './properties.ts';
import { goldenSeeds } from './seeds.ts';

const CASES = 100;

/** Members with a name that no protocol has, and the places of the objects that get them. */
const strangers = fc.array(
  fc.record({ place: fc.nat(), value: fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant({ type: 'x_tomorrow' })) }),
  { minLength: 1, maxLength: 4 },
);
type Stranger = typeof strangers extends fc.Arbitrary<(infer One)[]> ? One : never;

/** A copy as JSON has it, with the strangers in some of its objects. */
function withStrangers(body: Json, drawn: readonly Stranger[]): Json {
  const copy = structuredClone(body);
  const objects = objectsIn(copy);
  for (const [at, { place, value }] of drawn.entries()) objects[place % objects.length][`x_tomorrow_${at}`] = value;
  return JSON.parse(JSON.stringify(copy));
}

function objectsIn(value: Json): Json[] {
  if (Array.isArray(value)) return value.flatMap(objectsIn);
  return isObject(value) ? [value, ...Object.values(value).flatMap(objectsIn)] : [];
}

/** Without the name of the model, which is the gateway's to the client and the provider's to the upstream. */
function unnamed({ model: _, modelVersion: __, ...body }: Json): Json {
  if (isObject(body.message)) return { ...body, message: unnamed(body.message) };
  return isObject(body.response) ? { ...body, response: unnamed(body.response) } : body;
}

/** Golden requests that the gateway sends on as they are: without state to restore and members for itself. */
function plainRequests(protocol: Protocol): Json[] {
  const { complete } = protocol.operations;
  return goldenSeeds(protocol.id as Parameters<typeof goldenSeeds>[0]).requests.filter((body) => {
    const text = JSON.stringify(body);
    if (text.includes(ENVELOPE_MARK) || text.includes('"signature":""')) return false;
    if (complete.gatewayFields.some((name) => body[name] !== undefined)) return false;
    try {
      complete.checkLimits(structuredClone(body));
      return true;
    } catch {
      return false;
    }
  });
}

async function plannedBody(client: Protocol, body: Json): Promise<Json> {
  const bytes = Buffer.from(JSON.stringify(body));
  const options = { prepare: async () => {}, memory: createStateMemory(), client: new Cancellation() };
  const endpoint = endpointAt(bareProvider(client.id), {});
  const planned = await plan(callOf(client, bytes, JSON.parse(bytes.toString())), endpoint, options);
  return JSON.parse(Buffer.concat([planned.body].flat()).toString());
}

const TOMORROW = { event: 'x.tomorrow', data: { type: 'x.tomorrow', delta: { type: 'x_delta', text: 'news' } } };

describe('strangers between a client and an upstream of one protocol', () => {
  before(() => Promise.all(upstreamProtocols.map((protocol) => protocol.load?.())));
  for (const protocol of protocols) {
    test(`in requests of ${protocol.id}`, async () => {
      const requests = plainRequests(protocol);
      assert.ok(requests.length > 20, `only ${requests.length} requests`);
      const property = fc.asyncProperty(fc.constantFrom(...requests), strangers, async (request, drawn) => {
        const body = withStrangers({ ...request, model: 'provider/model' }, drawn);
        const { stream_options: _, ...sent } = unnamed(await plannedBody(protocol, body));
        const { stream_options: __, ...meant } = unnamed(body);
        assert.deepEqual(sent, meant);
      });
      await fc.assert(property, { numRuns: CASES });
    });

    test(`in answers of ${protocol.id}`, () => {
      fc.assert(
        fc.property(answersOf(protocol.id), strangers, ({ whole }, drawn) => {
          const body = withStrangers(whole, drawn);
          const chunks = [Buffer.from(JSON.stringify(body))];
          const { text = '' } = deliver({ client: protocol, upstream: protocol, stream: false }, { chunks });
          const { system_fingerprint: _, ...got } = unnamed(JSON.parse(text));
          assert.deepEqual(got, unnamed(body));
        }),
        { numRuns: CASES },
      );
    });

    test(`in streams of ${protocol.id}`, () => {
      const wires = fc.record({ cuts: fc.array(fc.nat(), { maxLength: 10 }), at: fc.nat(), drawn: strangers });
      fc.assert(
        fc.property(answersOf(protocol.id), wires, ({ frames }, { cuts, at, drawn }) => {
          const events = frames.map(({ event, data }, place) => ({
            event,
            data: isObject(data) ? withStrangers(data, place === at % frames.length ? drawn : []) : data,
          }));
          if (protocol.id !== 'chat' && protocol.id !== 'generate')
            events.splice(1 + (at % (events.length - 1)), 0, TOMORROW);
          const bytes = events.map(({ event, data }) => {
            const line = typeof data === 'string' ? data : JSON.stringify(data);
            return `${event === undefined ? '' : `event: ${event}\n`}data: ${line}\n\n`;
          });
          const chunks = piecesOf(Buffer.from(bytes.join('')), cuts);
          const form = { type: 'text/event-stream', chunks };
          const { text = '' } = deliver({ client: protocol, upstream: protocol, stream: true }, form);
          const got = parseEvents(Buffer.from(text)).map(({ data }) =>
            data === '[DONE]' ? data : unnamed(JSON.parse(data)),
          );
          assert.deepEqual(
            got,
            events.map(({ data }) => (isObject(data) ? unnamed(data) : data)),
          );
        }),
        { numRuns: CASES },
      );
    });
  }
});
