/** Background responses and conversations, while the gateway is killed again and again. */

import type { Json } from '../../../src/core/json/json.ts';
import { lastText, startResponsesUpstream } from '../../gateway/responses-upstream.ts';
import { atLeast, exactly, noted } from '../figures.ts';
import { freePort, KEY, startGateway } from '../gateway.ts';
import { between, inTurns, pause, type Scenario, type Stage, within } from '../stage.ts';

const KILLS = 12;
const CLIENTS = 8;
/** Milliseconds in which everything ends after the last start. */
const PATIENCE = 300_000;
const OPEN = ['queued', 'in_progress'];

/** A request that was accepted. */
interface Accepted {
  input: string;
  conversation?: string;
}

export const killedResponses: Scenario = {
  id: 'killed-responses',
  title: 'Kill -9 while background responses run',
  how:
    `${CLIENTS} clients send requests in the background without a pause, half of them in conversations, and the gateway is killed ${KILLS} times, 0.6 to 1.8 s after each start. ` +
    'The upstream takes up to 60 ms for an answer and remembers what it was sent. After the last start, each accepted response ends, and conversations have the items of those that are completed, and of no others.',
  async run(stage) {
    const upstream = await startResponsesUpstream({ keeps: false, prefix: 'b' });
    upstream.beforeEnd = () => pause(between(0, 60));
    stage.atEnd(upstream.close);
    const folder = stage.folder();
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/v1`;
    const yaml = `providers:\n  plain: { type: open-responses, base_url: "${upstream.url}/v1", models: [{ id: m }] }`;
    const start = () => startGateway(stage, { folder, port, yaml });
    let gateway = await start();
    const clients = await load(stage, url);
    for (let kill = 1; kill <= KILLS; kill++) {
      await pause(between(600, 1800));
      await gateway.kill();
      gateway = await start();
      stage.say(`kill ${kill} of ${KILLS}, ${clients.accepted.size} accepted`);
    }
    await clients.stop();
    const found = await endings(stage, url, clients.accepted);
    const answered = [...found].filter(([, { status }]) => status === 'completed');
    const wrong = answered.filter(
      ([id, { output }]) => output[0]?.content[0]?.text !== `You said: ${clients.accepted.get(id)?.input}`,
    );
    const sent = upstream.calls.map(({ body }) => lastText(body.input));
    const texts = await textsOf(url, clients.conversations);
    const inConversations = [...clients.accepted].filter(([, { conversation }]) => conversation !== undefined);
    const isCompleted = ([id]: [string, Accepted]) => found.get(id)?.status === 'completed';
    const timesIn = ([, { input, conversation = '' }]: [string, Accepted]) => {
      const all = texts.get(conversation) ?? [];
      return all.filter((text, index) => text === input && all[index + 1] === `You said: ${input}`).length;
    };
    const completed = inConversations.filter(isCompleted);
    const others = inConversations.filter((one) => !isCompleted(one));
    return [
      atLeast('responses that were accepted', clients.accepted.size, 100),
      noted('completed', answered.length),
      noted('cut off by kills, and failed', found.size - answered.length),
      exactly('without an end', clients.accepted.size - found.size, 0),
      exactly('sent to the provider twice', sent.length - new Set(sent).size, 0),
      exactly('completed with the answer to another request', wrong.length, 0),
      atLeast('completed in conversations', completed.length, 20),
      exactly('of these, not once in their conversation', completed.filter((one) => timesIn(one) !== 1).length, 0),
      exactly('in a conversation without being completed', others.filter((one) => timesIn(one) > 0).length, 0),
    ];
  },
};

const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };

async function call(method: string, url: string, body?: Json): Promise<{ status: number; body: Json } | undefined> {
  try {
    const response = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    return { status: response.status, body: await response.json() };
  } catch {
    return undefined;
  }
}

interface Clients {
  accepted: Map<string, Accepted>;
  conversations: string[];
  stop(): Promise<void>;
}

async function load(stage: Stage, url: string): Promise<Clients> {
  const accepted = new Map<string, Accepted>();
  const conversations: string[] = [];
  for (let index = 0; index < CLIENTS; index++) {
    const created = await call('POST', `${url}/conversations`, {});
    conversations.push(created?.body.id);
  }
  let over = false;
  stage.atEnd(() => {
    over = true;
  });
  const clients = conversations.map(async (conversation, index) => {
    for (let number = 0; !over; number++) {
      const input = `Client ${index} asks ${number}`;
      const place = number % 2 === 0 ? { conversation } : {};
      const request = { model: 'plain/m', input, background: true, store: true, ...place };
      const answer = await call('POST', `${url}/responses`, request);
      if (answer?.status === 200) accepted.set(answer.body.id, { input, ...place });
      await pause(answer?.status === 200 ? 20 : 100);
    }
  });
  return {
    accepted,
    conversations,
    async stop() {
      over = true;
      await Promise.all(clients);
    },
  };
}

/** The responses that have ended, by their ids. */
async function endings(stage: Stage, url: string, accepted: ReadonlyMap<string, Accepted>): Promise<Map<string, Json>> {
  const ended = new Map<string, Json>();
  await within(
    PATIENCE,
    async () => {
      const open = [...accepted.keys()].filter((id) => !ended.has(id));
      await inTurns(open, 2, async (id) => {
        const found = await call('GET', `${url}/responses/${id}`);
        if (found?.status === 200 && !OPEN.includes(found.body.status)) ended.set(id, found.body);
        // As often as a key may ask.
        await pause(50);
      });
      return ended.size === accepted.size;
    },
    () => stage.say(`${ended.size} of ${accepted.size} have ended`),
  );
  return ended;
}

/** Texts of the items of conversations, oldest first. */
async function textsOf(url: string, conversations: readonly string[]): Promise<Map<string, string[]>> {
  const texts = new Map<string, string[]>();
  for (const id of conversations) {
    const found: string[] = [];
    for (let after = ''; ; ) {
      const page = await call('GET', `${url}/conversations/${id}/items?order=asc&limit=100${after}`);
      if (page?.status !== 200) {
        await pause(100);
        continue;
      }
      for (const { content } of page.body.data) found.push(content[0].text);
      if (!page.body.has_more) break;
      after = `&after=${page.body.last_id}`;
    }
    texts.set(id, found);
  }
  return texts;
}
