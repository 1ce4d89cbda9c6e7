/**
 * Runs the tests of the Python SDKs: starts the gateway as a user does, and another one in front of a provider of each
 * protocol, and tells Python by the environment where they are. Arguments: a Python, then those of unittest.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { startGatewayProcess } from '../clients/gateway-process.ts';
import { startProvidedGateway } from '../clients/provided-gateway.ts';
import { ARGS, SIGNATURE, TEXT, THOUGHT, type UpstreamProtocol } from '../clients/upstreams.ts';
import { answerJson, KEY, startUpstream } from '../gateway/harness.ts';

const CLOCK = { zone: 'CET' };
/** A loop of three turns, with parallel calls in the second. */
const STEPS = [
  { thought: THOUGHT, signature: SIGNATURE, calls: [{ id: 'call_1', name: 'weather', args: ARGS }] },
  {
    thought: THOUGHT,
    signature: SIGNATURE,
    calls: [
      { id: 'call_2', name: 'weather', args: ARGS },
      { id: 'call_3', name: 'clock', args: CLOCK },
    ],
  },
  { text: TEXT },
];

const [python = 'python3', ...words] = process.argv.slice(2);
const gateway = await startGatewayProcess();
// To LiteLLM, `responses/` before a name is an order to speak that protocol.
const provided = await startProvidedGateway(STEPS, { aliases: { 'aliased/m': 'responses/m' } });
/** Answers with what the provider of the protocol in the path was last asked. */
const recorder = await startUpstream(({ path }, response) =>
  answerJson(response, provided.lastCall(path.slice(1) as UpstreamProtocol)?.body ?? null),
);
try {
  process.exitCode = await runTests();
} finally {
  await recorder.close();
  await provided.close();
  await gateway.close();
}

/** Nothing of the surroundings may configure an SDK, so Python sees little of them. */
async function runTests(): Promise<number> {
  const { PATH, HOME, SYSTEMROOT, TEMP } = process.env;
  const child = spawn(python, ['-W', 'error::RuntimeWarning', '-m', 'unittest', ...words], {
    cwd: import.meta.dirname,
    env: {
      ...{ PATH, HOME, SYSTEMROOT, TEMP },
      PYTHONDONTWRITEBYTECODE: '1',
      PYTHONUTF8: '1',
      NO_PROXY: '127.0.0.1',
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS: 'True',
      LITELLM_LOG: 'ERROR',
      GATEWAY: JSON.stringify({ url: gateway.url, key: gateway.key }),
      PROVIDED: JSON.stringify({ url: provided.url, key: KEY }),
      RECORDER: recorder.url,
      LOOP: JSON.stringify({ thought: THOUGHT, signature: SIGNATURE, weather: ARGS, clock: CLOCK, text: TEXT }),
    },
    stdio: 'inherit',
  });
  const [code] = await once(child, 'close');
  return code ?? 1;
}
