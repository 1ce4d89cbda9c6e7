/**
 * A program: streams that break or are given up, as LangChain's classes tell of them, as JSON. It runs by itself with
 * `--unhandled-rejections=none`, because the SDK below `ChatGoogleGenerativeAI` rejects a promise that nobody awaits.
 */

import { langChains } from './langchain.ts';

const { GATEWAY_URL: url = '', POLYGATE_KEY: key = '' } = process.env;
const outcomes: Record<string, { text: string; error?: string }> = {};

for (const [name, connect] of Object.entries(langChains(() => ({ url, key })))) {
  for (const words of process.argv.slice(2)) {
    const controller = new AbortController();
    const outcome: { text: string; error?: string } = { text: '' };
    try {
      const stream = await connect().model('sandbox/faulty').stream(words, { signal: controller.signal });
      for await (const chunk of stream) {
        outcome.text += chunk.text;
        if (words.startsWith('hang') && outcome.text !== '') controller.abort();
      }
    } catch (error) {
      outcome.error = (error as Error).message;
    }
    outcomes[`${name}: ${words}`] = outcome;
  }
}

process.stdout.write(JSON.stringify(outcomes));
