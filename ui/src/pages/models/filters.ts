/** Filters of the catalog, as they are in its address. */

import { isKnown, type Model, providerOf } from './query.ts';

export const ABILITIES = ['tools', 'reasoning', 'structured_outputs'] as const;
export type Ability = (typeof ABILITIES)[number];

export interface ModelFilters {
  find?: string;
  provider?: string;
  /** Kind of input. */
  takes?: string;
  /** Kind of output. */
  gives?: string;
  /** Least tokens of context. */
  context?: number;
  /** Highest price of a million input tokens in USD. */
  price?: number;
  /** Abilities, separated by commas. */
  can?: string;
  /** Only models with an endpoint that is configured as keeping nothing. */
  zdr?: true;
}

export function abilitiesOf(can = ''): Ability[] {
  const names = can.split(',');
  return ABILITIES.filter((name) => names.includes(name));
}

/** `keepingNothing` has the ids of models with zero retention; a price or a size that is not known fits no bound. */
export function matching(all: readonly Model[], filters: ModelFilters, keepingNothing?: ReadonlySet<string>): Model[] {
  const { find = '', provider, takes, gives, context, price, can, zdr } = filters;
  const words = find.toLowerCase().split(/\s+/).filter(Boolean);
  const abilities = abilitiesOf(can);
  return all.filter((model) => {
    if (provider && providerOf(model) !== provider) return false;
    const { input_modalities: inputs, output_modalities: outputs } = model.architecture;
    if (takes && !inputs.includes(takes)) return false;
    if (gives && !outputs.includes(gives)) return false;
    if (context !== undefined && !(isKnown(model.context_length) && model.context_length >= context)) return false;
    if (price !== undefined && !isWithin(model.pricing.prompt, price)) return false;
    if (!abilities.every((name) => model.supported_parameters.includes(name))) return false;
    if (zdr && !keepingNothing?.has(model.id)) return false;
    if (words.length === 0) return true;
    const text = [model.id, model.name, ...inputs, ...outputs, ...model.supported_parameters].join(' ').toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

function isWithin(perToken: string | undefined, most: number): boolean {
  const perMillion = Number(perToken ?? -1) * 1e6;
  return perMillion >= 0 && perMillion <= most * (1 + 1e-9);
}
