/** Any other server of the Responses protocol, such as one that follows Open Responses, which has only function tools. */

import { providerType } from './type.ts';

export const openResponses = providerType({
  id: 'open-responses',
  name: 'Open Responses server',
  environment: [],
  keyless: true,
  dialects: [{ protocol: 'responses', rules: { systemRole: 'system', customTools: false } }],
  modelsPath: '/models',
});
