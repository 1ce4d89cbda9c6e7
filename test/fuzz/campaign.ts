/** Fuzzing campaign: for each kind of wire and each pair of protocols, the drawing of cases and their properties. */

import fc from 'fast-check';
import type { Json } from '../../src/core/json/json.ts';
import type { Protocol } from '../../src/core/protocol.ts';
import type { Provider } from '../../src/core/provider.ts';
import { protocols } from '../../src/protocols/index.ts';
import { providerTypes } from '../../src/providers/index.ts';
import type { ProtocolId } from '../gateway/harness.ts';
import { bareProvider, endpointAt } from './delivery.ts';
import { bytesOf, edited, edits, type Frame, rearranged, rearrangements } from './mutation.ts';
import { checkCuts, checkDelivery, checkReaders, checkRequest, piecesOf, RULES } from './properties.ts';
import { arrived, type Seeds } from './seeds.ts';

export interface Trial {
  kind: 'request' | 'answer' | 'stream' | 'relay' | 'error';
  from: string;
  to: string;
  property: fc.IAsyncProperty<unknown>;
}

const pick = fc.nat({ max: 1 << 20 });
const cuts = fc.array(pick, { maxLength: 8 });

/** Providers that speak a protocol, one of each dialect. */
function providersOf(protocol: Protocol): Provider[] {
  const dialects = [...providerTypes.values()].filter((type) => type.protocols.includes(protocol.id) && !type.builtIn);
  return [
    bareProvider(protocol.id),
    ...dialects.map((type) => type.create({ id: type.id, baseUrl: 'https://a.test' })),
  ];
}

function one<Item>(items: readonly Item[], at: number): Item {
  return items[at % items.length] as Item;
}

export function trials(seedsOf: (protocol: ProtocolId | 'responses') => Seeds): Trial[] {
  return protocols.flatMap((from) => {
    const seeds = seedsOf(from.id as ProtocolId | 'responses');
    const alone = [readersTrial(from, seeds), relayTrial(from, seeds)];
    const pairs = protocols.flatMap((to) => {
      const answers = seeds.answers.length > 0 ? [answerTrial(from, to, seeds)] : [];
      return [requestTrial(from, to, seeds), ...answers, streamTrial(from, to, seeds)];
    });
    return [...alone, ...pairs];
  });
}

function requestTrial(client: Protocol, upstream: Protocol, { requests }: Seeds): Trial {
  const providers = providersOf(upstream);
  const property = fc.asyncProperty(pick, edits, pick, (seed, changes, at) => {
    const bytes = Buffer.from(JSON.stringify(edited(one(requests, seed), changes)));
    const provider = one(providers, at);
    return checkRequest(client, bytes, [endpointAt(provider, one(RULES, at)), endpointAt(provider, {})]);
  });
  return { kind: 'request', from: client.id, to: upstream.id, property };
}

function answerTrial(upstream: Protocol, client: Protocol, { answers }: Seeds): Trial {
  const property = fc.asyncProperty(pick, edits, pick, async (seed, changes, at) => {
    const chunks = [Buffer.from(JSON.stringify(edited(one(answers, seed), changes)))];
    const ways = { hideReasoning: at % 3 === 0, continues: at % 5 === 0 };
    await checkDelivery({ client, upstream, stream: false, ...ways }, { chunks });
    await checkDelivery({ client, upstream, stream: true, ...ways }, { chunks });
  });
  return { kind: 'answer', from: upstream.id, to: client.id, property };
}

function streamTrial(upstream: Protocol, client: Protocol, { streams }: Seeds): Trial {
  const property = fc.asyncProperty(pick, rearrangements, cuts, (seed, moves, positions) => {
    const bytes = bytesOf(rearranged(one(streams, seed), moves));
    const ways = { array: client.id === 'generate' && seed % 4 === 0, hideReasoning: seed % 3 === 0 };
    const asked = { client, upstream, stream: true, ...ways, continues: seed % 5 === 0 };
    return checkDelivery(asked, { type: 'text/event-stream', chunks: piecesOf(bytes, positions) });
  });
  return { kind: 'stream', from: upstream.id, to: client.id, property };
}

/** Bytes of any kind, some of them between frames that are good. */
function relayTrial(protocol: Protocol, { streams }: Seeds): Trial {
  const noise = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.string().map((text) => Buffer.from(text)),
  );
  const splices = fc.array(fc.tuple(pick, noise), { maxLength: 4 });
  const property = fc.asyncProperty(pick, rearrangements, splices, cuts, (seed, moves, inserted, positions) => {
    let bytes = bytesOf(rearranged(one(streams, seed), moves));
    for (const [at, extra] of inserted) {
      const cut = at % (bytes.length + 1);
      bytes = Buffer.concat([bytes.subarray(0, cut), extra, bytes.subarray(cut)]);
    }
    const client = one([protocol, ...protocols], seed);
    return checkCuts({ client, upstream: protocol, stream: true }, bytes, positions);
  });
  return { kind: 'relay', from: protocol.id, to: protocol.id, property };
}

function readersTrial(protocol: Protocol, { errors, answers, streams }: Seeds): Trial {
  const bodies: Json[] = [...errors, ...answers, ...streams.flatMap((frames) => frames.flatMap(bodyOf))];
  const property = fc.asyncProperty(pick, edits, pick, async (seed, changes, at) => {
    const body = edited(one(bodies, seed), changes);
    await checkReaders(protocol, arrived(body));
    const status = one([400, 401, 404, 429, 500, 529], at);
    const chunks = [Buffer.from(JSON.stringify(body))];
    for (const client of protocols) {
      await checkDelivery({ client, upstream: protocol, stream: false }, { status, chunks });
    }
  });
  return { kind: 'error', from: protocol.id, to: '', property };
}

function bodyOf({ data }: Frame): Json[] {
  try {
    return [JSON.parse(data)];
  } catch {
    return [];
  }
}
