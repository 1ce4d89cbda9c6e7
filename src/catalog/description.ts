/** Model descriptions, composed from facts. */

import type { CatalogModel, Modality } from '../core/model.ts';

const MODALITY_NOUNS: Record<Modality, string> = {
  text: 'text',
  image: 'images',
  file: 'files',
  audio: 'audio',
  video: 'video',
  embeddings: 'embeddings',
};

const ABILITIES: [parameter: string, ability: string][] = [
  ['tools', 'call tools'],
  ['reasoning', 'reason before it answers'],
  ['structured_outputs', 'answer in JSON that follows a schema'],
];

type DescribedFacts = Pick<
  CatalogModel,
  'name' | 'contextLength' | 'inputModalities' | 'outputModalities' | 'supportedParameters'
>;

/** English description of a model: its modalities, context length and abilities. */
export function describeModel(model: DescribedFacts): string {
  const reads = joinWords(model.inputModalities.map((modality) => MODALITY_NOUNS[modality]));
  const writes = joinWords(model.outputModalities.map((modality) => MODALITY_NOUNS[modality]));
  const context =
    model.contextLength > 0 ? ` in a context of ${model.contextLength.toLocaleString('en-US')} tokens` : '';
  const abilities = ABILITIES.filter(([parameter]) => model.supportedParameters.includes(parameter));
  const can = abilities.length === 0 ? '' : ` It can ${joinWords(abilities.map(([, ability]) => ability))}.`;
  return `${model.name} reads ${reads} and writes ${writes}${context}.${can}`;
}

function joinWords(words: string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}
