/** State of a request in a word and a mark. */

import { Status, type Tone } from '../../parts/status.tsx';
import type { RequestView } from './query.ts';

const TONES: Record<RequestView['status'], Tone> = {
  completed: 'good',
  partial: 'warn',
  failed: 'bad',
  cancelled: 'quiet',
  interrupted: 'bad',
  running: 'quiet',
};

export function RequestStatus({ view }: { view: Pick<RequestView, 'status' | 'error_code'> }) {
  return <Status tone={TONES[view.status]}>{view.error_code ?? view.status}</Status>;
}
