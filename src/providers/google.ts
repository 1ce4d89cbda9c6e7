/** Google's Gemini API, and any other server of generateContent. */

import { providerType } from './type.ts';
import { veo } from './videos/veo.ts';

/** Prefixes of model ids: models of a family accept each other's thought signatures. */
const MODEL_FAMILIES = ['gemini-3', 'gemini-2.5', 'gemini-2.0', 'gemma-3', 'gemma-4'];

export const google = providerType({
  id: 'google',
  name: 'Google Gemini',
  dialects: [{ protocol: 'generate', countsTokens: true }],
  environment: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
  baseUrl: 'https://generativelanguage.googleapis.com',
  version: /\/v1(alpha|beta)?\d*$/,
  catalog: 'google',
  modelsPath: '/v1beta/models',
  credential: (key) => ({ 'x-goog-api-key': key }),
  family: (model) => MODEL_FAMILIES.find((start) => model.startsWith(start)) ?? model,
  video: veo,
});
