/** Records of use, while the gateway is killed again and again under load. */

import { startChats } from '../chat-upstream.ts';
import { atLeast, atMost, exactly, noted } from '../figures.ts';
import { ask, freePort, startGateway } from '../gateway.ts';
import { between, pause, type Scenario, type Stage } from '../stage.ts';
import { openData } from '../store.ts';

const KILLS = 8;
const CLIENTS = 24;
const INPUT = 7;
const OUTPUT = 11;

export const killedAccounts: Scenario = {
  id: 'killed-accounts',
  title: 'Kill -9 while use is recorded',
  how:
    `${CLIENTS} clients ask without a pause, every other time for a stream, and the gateway is killed ${KILLS} times. The upstream charges ${INPUT} tokens in and ${OUTPUT} out for every answer and remembers them. ` +
    'Each answer that it served has one record. What a kill interrupted is recorded as interrupted, with an estimate, also where it came between the intent and the request.',
  async run(stage) {
    const upstream = await startChats(stage, { input: INPUT, output: OUTPUT });
    const folder = stage.folder();
    const port = await freePort();
    const start = () => startGateway(stage, { folder, port, yaml: upstream.yaml });
    const clients = load(stage, `http://127.0.0.1:${port}/v1/chat/completions`);
    for (let kill = 1; kill <= KILLS; kill++) {
      const gateway = await start();
      await pause(between(600, 1800));
      await gateway.kill();
      stage.say(`kill ${kill} of ${KILLS}, ${clients.whole.size} answers`);
    }
    const last = await start();
    await pause(1500);
    await clients.stop();
    last.signal('SIGTERM');
    await last.ended;
    const { records, left, hours } = await look(folder);
    const completed = records.filter(({ status }) => status === 'completed');
    const interrupted = records.filter(({ status }) => status === 'interrupted');
    const byUpstream = Map.groupBy(completed, ({ upstream_id }) => String(upstream_id));
    const sum = (column: string, of = completed) => of.reduce((total, record) => total + Number(record[column]), 0);
    const served = upstream.served.size;
    return [
      atLeast('answers that the upstream served', served, 500),
      noted('requests interrupted by kills', interrupted.length),
      exactly(
        'answers that a client read to the end, without a record',
        [...clients.whole].filter((id) => !byUpstream.has(id)).length,
        0,
      ),
      exactly('answers with two records', [...byUpstream.values()].filter(({ length }) => length > 1).length, 0),
      exactly(
        'records of answers that nobody served',
        [...byUpstream.keys()].filter((id) => !upstream.served.has(id)).length,
        0,
      ),
      exactly('answers that the upstream served, without a record', Math.max(0, served - records.length), 0),
      atMost('records of requests that were never served', Math.max(0, records.length - served), KILLS * CLIENTS),
      exactly('input tokens of whole answers', sum('input_tokens'), INPUT * completed.length),
      exactly('output tokens of whole answers', sum('output_tokens'), OUTPUT * completed.length),
      exactly('requests in the sums by hour', hours, records.length),
      exactly('intents left over', left, 0),
    ];
  },
};

async function look(folder: string) {
  const store = await openData(folder);
  const rows = (sql: string) => store.do('askUsage', { sql });
  const records = await rows('SELECT status, upstream_id, input_tokens, output_tokens FROM usage_record');
  const [left] = await rows('SELECT count(*) AS n FROM inflight');
  const [hours] = await rows('SELECT sum(requests) AS n FROM usage_hour');
  await store.close();
  return { records, left: Number(left?.n), hours: Number(hours?.n) };
}

interface Clients {
  /** Ids of the answers that were read to their end. */
  whole: Set<string>;
  stop(): Promise<void>;
}

function load(stage: Stage, url: string): Clients {
  const whole = new Set<string>();
  let over = false;
  stage.atEnd(() => {
    over = true;
  });
  const clients = Array.from({ length: CLIENTS }, async (_, index) => {
    for (let number = index; !over; number++) {
      const stream = number % 2 === 0;
      const body = { model: 'up/chat', stream, messages: [{ role: 'user', content: `Question ${number}` }] };
      const answer = await ask(url, body, { patience: 5000 }).catch(() => undefined);
      const isWhole = answer?.status === 200 && (!stream || answer.text.includes('[DONE]'));
      const id = /made-\d+/.exec(answer?.text ?? '')?.[0];
      if (isWhole && id !== undefined) whole.add(id);
      else await pause(50);
    }
  });
  return {
    whole,
    async stop() {
      over = true;
      await Promise.all(clients);
    },
  };
}
