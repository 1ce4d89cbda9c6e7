/** Clients of the Responses protocol as agents, with a thinking model of every protocol: nothing is lost between three turns. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { KEY } from '../gateway/harness.ts';
import { PROTOCOLS, type ProvidedGateway, startProvidedGateway } from './provided-gateway.ts';
import { responsesAgents } from './responses-agents.ts';
import { type Step, TEXT, USAGE } from './upstreams.ts';

const zurich = { name: 'weather', args: { city: 'Zürich' } };
const bern = { name: 'weather', args: { city: 'Bern' } };
const clock = { name: 'clock', args: {} };
const STEPS: Step[] = [
  { thought: 'I must look. 🤔', signature: 'c2lnbmVkIG9uY2U=', calls: [{ id: 'call_1', ...zurich }] },
  {
    thought: 'Now both.',
    signature: 'c2lnbmVkIHR3aWNl',
    calls: [
      { id: 'call_2', ...bern },
      { id: 'call_3', ...clock },
    ],
  },
  { text: TEXT },
];

let gateway: ProvidedGateway;
before(async () => {
  gateway = await startProvidedGateway(STEPS);
});
after(() => gateway.close());

for (const [name, run] of Object.entries(responsesAgents(() => ({ url: gateway.url, key: KEY })))) {
  describe(`${name} as an agent (checklist 97)`, () => {
    for (const protocol of PROTOCOLS) {
      for (const stream of [false, true]) {
        test(`with ${protocol}, ${stream ? 'streamed' : 'whole'}`, async () => {
          const agent = await run(`${protocol}/m`, stream);
          assert.deepEqual(
            agent.calls,
            [[zurich], [bern, clock], []].map((calls) => calls.map(({ name, args }) => [name, args])),
          );
          assert.equal(agent.text, TEXT);
          assert.deepEqual(agent.usage, USAGE);
          assert.deepEqual(
            agent.reasoning,
            STEPS.flatMap((step) => ('thought' in step ? [step.thought] : [])),
          );
          // Where a request is relayed, the client itself must ask for the state, and this one does not.
          const isAsked = protocol !== 'chat' && !(protocol === 'responses' && name === 'ChatOpenAI');
          const sent = gateway.lastCall(protocol)?.bytes.toString() ?? '';
          for (const step of STEPS)
            if (isAsked && 'signature' in step)
              assert(sent.includes(`"${step.signature}"`), `${step.signature} is missing`);
        });
      }
    }
  });
}
