/** Usage records, while the gateway is killed again and again under load. */

import { startChats } from '../chat-upstream.ts';
import { atLeast, atMost, noted } from '../figures.ts';
import { ask, freePort, startGateway } from '../gateway.ts';
import { unstored } from '../journals.ts';
import { usageFigures } from '../ledgers.ts';
import { between, pause, type Scenario, type Stage } from '../stage.ts';
import { openData } from '../store.ts';

const KILLS = 12;
const CLIENTS = 24;
const INPUT = 7;
const OUTPUT = 11;

export const killedAccounts: Scenario = {
  id: 'killed-accounts',
  title: 'Kill -9 while usage is recorded',
  how:
    `${CLIENTS} clients send requests without a pause, half of them streamed, and the gateway is killed ${KILLS} times. The upstream charges ${INPUT} input and ${OUTPUT} output tokens for every answer and remembers them. ` +
    'Usage is strict, and the journal is read after each kill. Each answer that the upstream served has one record. A request that a kill interrupted is recorded as interrupted, with an estimate, also if the kill came between the note and the request.',
  async run(stage) {
    const upstream = await startChats(stage, { input: INPUT, output: OUTPUT });
    const folder = stage.folder();
    const port = await freePort();
    const start = () => startGateway(stage, { folder, port, yaml: upstream.yaml });
    const clients = load(stage, `http://127.0.0.1:${port}/v1/chat/completions`);
    const held = { ended: 0, open: 0, kills: 0 };
    for (let kill = 1; kill <= KILLS; kill++) {
      const gateway = await start();
      await pause(between(600, 1800));
      await gateway.kill();
      const { ended, open } = await unstored(folder);
      held.ended += ended;
      held.open += open;
      held.kills += Number(ended > 0);
      stage.say(`kill ${kill} of ${KILLS}, ${clients.whole.size} answers`);
    }
    const last = await start();
    await pause(1500);
    await clients.stop();
    last.signal('SIGTERM');
    await last.ended;
    const store = await openData(folder);
    const used = { served: upstream.served, whole: clients.whole, input: INPUT, output: OUTPUT };
    const { figures, interrupted, unserved } = await usageFigures(store, used);
    await store.close();
    return [
      atLeast('answers that the upstream served', upstream.served.size, 500),
      atLeast('kills at which only the journal held records', held.kills, KILLS / 2),
      noted('records that only the journal held', held.ended),
      noted('requests that had begun and not ended', held.open),
      noted('requests interrupted by kills', interrupted),
      ...figures,
      atMost('records of requests that were never served', unserved, KILLS * CLIENTS),
    ];
  },
};

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
