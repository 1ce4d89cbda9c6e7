/** Embeddings of the sandbox: vectors made of a hash of the text, so that the same text has the same vector. */

import { createHash } from 'node:crypto';
import { normalized, type Vector, vectorToBase64, vectorToNumbers } from '../../core/embedding.ts';
import { GatewayError } from '../../core/errors.ts';
import { readBody } from '../../core/json/body.ts';
import type { LocalResponse } from '../../core/provider.ts';
import { countTokens } from './tokens.ts';

export const EMBED_MODEL = 'embed';
const EMBED_DIMENSIONS = 256;
const MAX_DIMENSIONS = 1024;
/** Characters of all texts of a request together. */
const MAX_CHARACTERS = 1024 * 1024;
/** Numbers of all vectors of a request together. */
const MAX_NUMBERS = 65_536;

/** Throws `model_not_found` and `invalid_request`. */
export async function embed(bytes: Buffer): Promise<LocalResponse> {
  const { model, input, dimensions: asked, encoding_format } = await readBody(bytes);
  const dimensions = asked ?? EMBED_DIMENSIONS;
  if (model !== EMBED_MODEL) {
    throw new GatewayError('model_not_found', `The sandbox has no embedding model ${model}, only ${EMBED_MODEL}.`, {
      param: 'model',
    });
  }
  if (dimensions > MAX_DIMENSIONS) {
    throw new GatewayError('invalid_request', `dimensions must be at most ${MAX_DIMENSIONS} for this model.`, {
      param: 'dimensions',
    });
  }
  const texts: string[] = Array.isArray(input) ? input : [input];
  if (texts.reduce((sum, text) => sum + text.length, 0) > MAX_CHARACTERS) {
    throw new GatewayError('invalid_request', `input may have at most ${MAX_CHARACTERS} characters in all.`, {
      param: 'input',
    });
  }
  if (texts.length * dimensions > MAX_NUMBERS) {
    const most = Math.floor(MAX_NUMBERS / dimensions);
    throw new GatewayError('invalid_request', `input may have at most ${most} texts with ${dimensions} dimensions.`, {
      param: 'input',
    });
  }
  const encode = encoding_format === 'base64' ? vectorToBase64 : vectorToNumbers;
  const data = texts.map((text, index) => ({
    object: 'embedding',
    index,
    embedding: encode(vectorOf(text, dimensions)),
  }));
  const tokens = texts.reduce((sum, text) => sum + countTokens(text), 0);
  const reply = { object: 'list', data, model, usage: { prompt_tokens: tokens, total_tokens: tokens } };
  async function* body(): AsyncGenerator<Buffer> {
    yield Buffer.from(JSON.stringify(reply));
  }
  return { status: 200, headers: { 'content-type': 'application/json' }, body: body() };
}

function vectorOf(text: string, dimensions: number): Vector {
  const vector = new Float32Array(dimensions);
  for (let at = 0, block = 0; at < dimensions; block++) {
    const hash = createHash('sha256').update(`${block} ${text}`).digest();
    for (let byte = 0; byte < hash.length && at < dimensions; byte += 2) vector[at++] = hash.readInt16LE(byte) / 32_768;
  }
  return normalized(vector);
}
