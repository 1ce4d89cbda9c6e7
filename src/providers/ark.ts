/** ByteDance's Ark, at home as Volcengine and abroad as BytePlus ModelArk: Seed, Doubao and other models, and Seedance. Keys are regional. */

import type { ProviderType } from '../core/provider.ts';
import { applyRules } from './dialect/rules.ts';
import { dialect } from './dialect/step.ts';
import { chatServer } from './type.ts';
import { seedance } from './videos/seedance.ts';

function ark(place: Pick<ProviderType, 'id' | 'name' | 'environment' | 'baseUrl'>): ProviderType {
  return chatServer({
    ...place,
    rules: { tokenField: 'max_tokens', systemRole: 'system' },
    adapt: dialect(applyRules),
    video: seedance,
  });
}

export const byteplus = ark({
  id: 'byteplus',
  name: 'BytePlus ModelArk',
  environment: ['BYTEPLUS_API_KEY'],
  baseUrl: 'https://ark.ap-southeast.bytepluses.com/api/v3',
});

export const volcengine = ark({
  id: 'volcengine',
  name: 'Volcengine Ark',
  environment: ['VOLCENGINE_API_KEY'],
  baseUrl: 'https://ark.cn-beijing.volces.com/api/v3',
});
