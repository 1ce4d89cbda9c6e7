/** Any other server of the Responses protocol, such as one that follows Open Responses. Requests are relayed unchanged. */

import { providerType } from './type.ts';

export const openResponses = providerType({
  id: 'open-responses',
  name: 'Open Responses server',
  environment: [],
  keyless: true,
  dialects: [{ protocol: 'responses' }],
  modelsPath: '/models',
});
