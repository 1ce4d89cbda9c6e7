/** Sandbox: a built-in fake provider without key, network or real model. */

import type { ProviderType } from '../../core/provider.ts';
import { createHeaderPlatform } from '../platform/headers.ts';
import { modelsOf } from './models.ts';
import { createSandboxClock } from './send.ts';
import { createSandboxUpstream } from './upstream.ts';
import { sandboxVideo } from './video/wire.ts';

export const sandbox: ProviderType = {
  id: 'sandbox',
  name: 'Sandbox (no AI)',
  protocols: ['chat'],
  environment: [],
  keyless: true,
  builtIn: true,
  baseUrl: 'sandbox:',
  create: ({ id, clock }) => ({
    id,
    speaks: () => [{ protocol: 'chat' }],
    platform: createHeaderPlatform({ baseUrl: 'sandbox:' }),
    environment: [],
    models: modelsOf(id),
    video: sandboxVideo,
    local: createSandboxUpstream(createSandboxClock(clock)),
  }),
};
