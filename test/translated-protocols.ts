/** Protocols that all suites cover. */

import type { Protocol } from '../src/core/protocol.ts';
import { protocols } from '../src/protocols/index.ts';

export const translatedProtocols: readonly Protocol[] = protocols.filter(({ id }) => id !== 'responses');
