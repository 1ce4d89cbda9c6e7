/** Sandbox: a built-in fake provider without key, network or real model. */

import type { LocalUpstream, ProviderType } from '../../core/provider.ts';
import { createHeaderPlatform } from '../platform/headers.ts';
import { createSandboxClock, type SandboxClock } from './clock.ts';
import { modelsOf } from './models.ts';
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
    local: createUpstreamWhenNeeded(createSandboxClock(clock)),
  }),
};

/** Loads the upstream at its first request: most gateways never call the sandbox. */
function createUpstreamWhenNeeded(clock: SandboxClock): LocalUpstream {
  let upstream: LocalUpstream | undefined;
  return async (request) => {
    const { createSandboxUpstream } = await import('./upstream.ts');
    upstream ??= createSandboxUpstream(clock);
    return upstream(request);
  };
}
