/** A call of a model, by what it gives. */

import { snippetOf } from '../../first-model.ts';
import { isVideoModel } from './prices.tsx';
import type { Model } from './query.ts';

const KEY = '$POLYGATE_KEY';

export function callOf(model: Model, origin: string): string {
  const outputs = model.architecture.output_modalities;
  if (isVideoModel(model)) return call(`${origin}/v1/videos`, { model: model.id, prompt: 'A paper boat on a river' });
  if (outputs.includes('embeddings')) return call(`${origin}/v1/embeddings`, { model: model.id, input: 'Hello' });
  return snippetOf('curl', { origin, model: model.id, key: KEY });
}

function call(url: string, body: object): string {
  return `curl ${url} \\
  -H "Authorization: Bearer ${KEY}" \\
  -H "Content-Type: application/json" \\
  -d '${JSON.stringify(body)}'`;
}
