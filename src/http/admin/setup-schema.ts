/** Schemas of the needs of a first request: providers, and model servers of this machine. */

import { Type } from 'typebox';
import { count, nullable } from './schema.ts';

const providerState = Type.Object({
  id: Type.String(),
  state: Type.Unsafe<string>({ type: 'string', enum: ['ready', 'waiting', 'unreachable'] }),
  models: count,
  waiting_for: nullable(Type.Array(Type.String(), { description: 'Environment variables that it needs.' })),
});

export const setup = Type.Object({
  data: Type.Object({
    providers: Type.Array(providerState),
    active_keys: count,
    last_request_at: nullable(Type.String({ format: 'date-time', description: 'End of the newest request.' })),
  }),
});

export const localServers = Type.Object({
  data: Type.Array(
    Type.Object({
      type: Type.String({ description: 'Provider type.' }),
      name: Type.String(),
      base_url: Type.String(),
      state: Type.Unsafe<string>({
        type: 'string',
        enum: ['found', 'absent', 'itself', 'unclear'],
        description:
          '`itself`: this gateway listens there. `unclear`: something answers, but not with a list of models.',
      }),
      problem: nullable(Type.String({ description: 'Why it is unclear.' })),
      models: count,
      first_models: Type.Array(Type.String(), { maxItems: 5 }),
      configured_as: Type.Array(Type.String(), { description: 'Providers with this address.' }),
      lines: Type.String({ description: 'Lines of the configuration that add it.' }),
    }),
  ),
});
