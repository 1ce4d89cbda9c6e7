/** Embeddings of Google Vertex AI, from and to the form of Gemini's API: predictions for several texts, one content for newer models. */

import type { EmbeddingForm } from '../../core/embedding.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { defined } from '../../core/plain-objects.ts';

/** Gemini's embedding models since the second, as the vendor's own SDK tells them from those of predictions. */
const EMBEDS_CONTENT = /^gemini-(?!embedding-001$)/;

export const vertexEmbeddings: EmbeddingForm = {
  path: (model) =>
    `/v1beta/models/${encodeURIComponent(model)}:${EMBEDS_CONTENT.test(model) ? 'embedContent' : 'predict'}`,
  request: ({ requests }, model) => (EMBEDS_CONTENT.test(model) ? contentOf(requests) : instancesOf(requests)),
  response({ predictions, embedding, usageMetadata }) {
    if (!Array.isArray(predictions)) return { embeddings: [embedding], usageMetadata };
    const counts = predictions.map((one) => one?.embeddings?.statistics?.token_count);
    const promptTokenCount = counts.every(Number.isInteger)
      ? counts.reduce((sum: number, count: number) => sum + count, 0)
      : undefined;
    return { embeddings: predictions.map((one) => one?.embeddings), usageMetadata: { promptTokenCount } };
  },
};

function contentOf([first, ...others]: Json[]): Json {
  if (others.length > 0)
    throw new GatewayError(
      'unsupported_parameter',
      'input: this model embeds one text in a request at this provider.',
      {
        param: 'input',
      },
    );
  const { content, taskType, title, outputDimensionality } = first;
  const embedContentConfig = defined({ taskType, title, outputDimensionality });
  // Each content has a role at Vertex AI.
  return {
    content: { ...content, role: 'user' },
    ...(Object.keys(embedContentConfig).length > 0 && { embedContentConfig }),
  };
}

function instancesOf(requests: Json[]): Json {
  const outputDimensionality = requests[0]?.outputDimensionality;
  return {
    instances: requests.map(({ content, taskType, title }) =>
      defined({ content: content.parts[0].text, task_type: taskType, title }),
    ),
    ...(outputDimensionality !== undefined && { parameters: { outputDimensionality } }),
  };
}
