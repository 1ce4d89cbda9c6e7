/** Families of models at Converse, as data: what each takes beside the fields that all have. Rules of a model are stronger. */

export interface ModelFamily {
  /** Path of `top_k` among the fields of the model's own; absent if it has none. */
  topK?: readonly string[];
  /** Way in which reasoning is asked for, among the fields of the model's own; absent if it cannot be. */
  reasoning?: 'nova' | 'effort';
  /** Tool choices other than `auto`; one that a model turns out to refuse is taken out. */
  choices: readonly ('any' | 'tool')[];
  /** Answers and arguments can be bound to a schema. */
  schema: boolean;
  /** Cache points are read, behind system texts and parts of messages. */
  caches: boolean;
  /** Results of tools have a status. */
  statuses: boolean;
  /** Results of tools may hold media. */
  resultMedia: boolean;
  /** Parameters of a tool have no other members than type, properties and required. */
  plainParameters: boolean;
  /** Ids of calls are of nine letters and digits. */
  shortIds: boolean;
  /** Name of the search of the web that the platform runs for the model. */
  search?: string;
}

const OTHERS: ModelFamily = {
  choices: ['any', 'tool'],
  schema: false,
  caches: false,
  statuses: false,
  resultMedia: false,
  plainParameters: false,
  shortIds: false,
};

const NOVA: Partial<ModelFamily> = {
  topK: ['inferenceConfig', 'topK'],
  caches: true,
  statuses: true,
  resultMedia: true,
  plainParameters: true,
};
const UNFORCED: Partial<ModelFamily> = { choices: [] };
const MISTRAL: Partial<ModelFamily> = { topK: ['top_k'], choices: ['any'], shortIds: true };
const BOUND: Partial<ModelFamily> = { schema: true };

/** By the id of the model, behind a region's prefix or in an ARN; the first that matches counts. */
const FAMILIES: readonly (readonly [RegExp, Partial<ModelFamily>])[] = [
  [/amazon\.nova-2/, { ...NOVA, reasoning: 'nova', search: 'nova_grounding' }],
  [/amazon\.nova/, NOVA],
  [/mistral\.(mistral-large-3|ministral|magistral|voxtral|devstral)/, { ...MISTRAL, ...BOUND }],
  [/mistral\./, MISTRAL],
  [/cohere\./, { topK: ['k'], choices: [] }],
  [/deepseek\.r1/, UNFORCED],
  [/deepseek\./, { ...BOUND, reasoning: 'effort' }],
  [/moonshot(ai)?\./, { ...BOUND, reasoning: 'effort' }],
  [/(qwen|google|minimax|nvidia)\./, BOUND],
  [/(meta|ai21|amazon)\./, UNFORCED],
];

export function familyOf(model: string): ModelFamily {
  const [, known] = FAMILIES.find(([pattern]) => pattern.test(model)) ?? [];
  return { ...OTHERS, ...known };
}
