/** No request goes out before it is noted, and no answer ends before its record stands; and what happens when that cannot be. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Store } from '../../src/store/store.ts';
import { type JournalDisk, nodeDisk } from '../../src/usage/journal/disk.ts';
import { WIRES } from '../faults/wires.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import {
  answerJson,
  ask,
  type ProtocolId,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';
import { get, hear, recordOf } from './usage-client.ts';

const PROVIDERS: Record<ProtocolId, string> = { chat: 'a', messages: 'b', generate: 'c' };
const IDS = Object.keys(PROVIDERS) as ProtocolId[];

/** Holds back writes of the journal until they are let through; `broken` makes them fail. */
function createGate() {
  const state = { closed: false, broken: false };
  let waiting: (() => void)[] = [];
  let arrived: (() => void) | undefined;
  const disk: JournalDisk = {
    ...nodeDisk,
    async write(fd, bytes, span, onWritten) {
      arrived?.();
      if (state.closed) await new Promise<void>((resolve) => waiting.push(resolve));
      if (state.broken) setImmediate(() => onWritten(new Error('the disk is full'), 0));
      else nodeDisk.write(fd, bytes, span, onWritten);
    },
  };
  return {
    state,
    disk,
    /** Settles when the next write is held back. */
    arrival: () =>
      new Promise<void>((resolve) => {
        arrived = resolve;
      }),
    letThrough() {
      const held = waiting;
      waiting = [];
      for (const go of held) go();
    },
    open() {
      state.closed = false;
      this.letThrough();
    },
  };
}

let upstream: TestUpstream;
/** The ends of streams come after it. */
let tail: Promise<void> | undefined;

before(async () => {
  upstream = await startUpstream(async (call, response) => {
    const wire = WIRES[IDS.find((name) => call.path.toLowerCase().includes(name)) ?? 'chat'];
    if (call.path.includes('stream') || call.body.stream) {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(wire.head);
      await tail;
      response.end(wire.tail);
    } else answerJson(response, wire.whole);
  });
});

after(() => upstream.close());

function start(journalDisk: JournalDisk, yaml = ''): Promise<TestGateway> {
  return startTestGateway(
    `
providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m }] }
  b: { type: anthropic, base_url: "${upstream.url}", api_key: k, models: [{ id: m }] }
  c: { type: google, base_url: "${upstream.url}", api_key: k, models: [{ id: m }] }
${yaml}`,
    { journalDisk },
  );
}

/** Reads what comes until nothing more does for as long as the gate is closed. */
function collect(response: Response): { text: string; done: Promise<void> } {
  const heard = { text: '', done: Promise.resolve() };
  heard.done = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) heard.text += decoder.decode(chunk, { stream: true });
  })();
  return heard;
}

const turns = async (count = 50): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate);
};

/** What tells a client that a stream is complete. */
const ENDS: Record<ProtocolId, RegExp> = { chat: /\[DONE\]/, messages: /message_stop/, generate: /"STOP"/ };

describe('strict', () => {
  const gate = createGate();
  let gateway: TestGateway;
  before(async () => {
    gateway = await start(gate.disk);
    // The journal has its file from here on.
    await hear(gateway.url, { protocol: 'chat', model: 'a/m', text: 'Hi' });
  });
  after(() => gateway.close());

  for (const protocol of IDS) {
    for (const target of IDS) {
      const asked = { protocol, model: `${PROVIDERS[target]}/m`, text: 'Hi' };

      test(`${protocol} from ${target}: nothing is sent before its intent is noted, and a stream's end waits for its record`, async () => {
        gate.state.closed = true;
        const intent = gate.arrival();
        const end = Promise.withResolvers<void>();
        tail = end.promise;
        const before = upstream.calls.length;
        const asking = ask(gateway, { ...asked, stream: true });
        await intent;
        await turns();
        assert.equal(upstream.calls.length, before);
        const record = gate.arrival();
        gate.letThrough();
        const heard = collect(await asking);
        end.resolve();
        await record;
        await turns();
        assert.match(heard.text, /Hel/);
        assert.doesNotMatch(heard.text, ENDS[protocol]);
        gate.open();
        await heard.done;
        assert.match(heard.text, ENDS[protocol]);
      });
    }

    test(`${protocol}: a response in one piece waits for its record`, async () => {
      gate.state.closed = true;
      const arrival = gate.arrival();
      let begun = false;
      const asking = ask(gateway, { protocol, model: 'a/m', text: 'Hi' }).then((response) => {
        begun = true;
        return response;
      });
      await arrival;
      await turns(200);
      assert.equal(begun, false);
      gate.open();
      assert.equal((await asking).status, 200);
    });

    test(`${protocol}: nothing begins while records cannot be written`, async () => {
      gate.state.broken = true;
      const running = await hear(gateway.url, { protocol, model: 'a/m', text: 'Hi' });
      assert.equal(running.status, 200);
      const asked = upstream.calls.length;
      const refused = await hear(gateway.url, { protocol, model: 'a/m', text: 'Hi' });
      assert.equal(refused.status, { chat: 503, messages: 529, generate: 503 }[protocol]);
      assert.equal(refused.headers['x-polygate-error'], 'unavailable');
      assert.equal(refused.headers['retry-after'], '1');
      assert.equal(upstream.calls.length, asked);
      gate.state.broken = false;
      assert.equal((await recordOf(gateway.url, running.id)).status, 'completed');
      assert.equal((await hear(gateway.url, { protocol, model: 'a/m', text: 'Hi' })).status, 200);
    });
  }

  test('what reached no upstream is not noted', async () => {
    const { status } = await hear(gateway.url, { protocol: 'chat', model: 'a/none', text: 'Hi', more: { n: 'x' } });
    assert.equal(status, 400);
    const { body } = await get(gateway.url, '/v1/usage');
    const { total } = body;
    await hear(gateway.url, { protocol: 'chat', model: 'nobody/m', text: 'Hi' });
    assert.deepEqual((await get(gateway.url, '/v1/usage')).body.total, total);
  });
});

describe('batched', () => {
  test('nobody waits for the store, and records are written after', async () => {
    const gate = createGate();
    const gateway = await start(gate.disk, 'usage: { durability: batched }');
    const { id: first } = await hear(gateway.url, { protocol: 'chat', model: 'a/m', text: 'Hi' });
    await recordOf(gateway.url, first);
    gate.state.closed = true;
    for (const stream of [false, true]) {
      const { status } = await hear(gateway.url, { protocol: 'chat', model: 'a/m', text: 'Hi', stream });
      assert.equal(status, 200);
    }
    gate.open();
    const { id } = await hear(gateway.url, { protocol: 'chat', model: 'a/m', text: 'Hi' });
    await recordOf(gateway.url, id);
    assert.equal((await get(gateway.url, '/v1/usage')).body.total.requests, 4);
    await gateway.close();
  });
});

for (const [stalls, patience] of [
  ['storeJournalBatch', 5_000],
  ['usageSums', 60_000],
] as const) {
  test(`a report does not wait for a store that does not answer ${stalls}`, async (context) => {
    const clock = createManualClock(Date.now());
    const released = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const wrapStore = (inner: Store): Store => {
      const call: Store['call'] = async (name, parameters) => {
        if (name !== stalls) return inner.call(name, parameters);
        asked.resolve();
        await released.promise;
        return inner.call(name, parameters);
      };
      return { ...inner, call };
    };
    const gateway = await startTestGateway('', { clock, wrapStore });
    context.after(() => {
      released.resolve();
      return gateway.close();
    });
    await hear(gateway.url, { protocol: 'chat', model: 'sandbox/echo', text: 'Hello' });
    const report = get(gateway.url, '/v1/usage');
    await asked.promise;
    clock.advance(patience);
    const { status, body } = await report;
    assert.equal(status, 503);
    assert.match(body.error.message, /cannot reach its store/);
  });
}
