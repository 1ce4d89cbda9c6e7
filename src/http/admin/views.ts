/** Handlers of the admin API for saved views, which all operators share. */

import { createSavedViews, OPERATORS } from '../saved-views.ts';
import type { AdminOptions } from './request.ts';
import type { AdminHandlers } from './routes.ts';

type ViewHandlers = Pick<AdminHandlers, 'ViewList' | 'View' | 'ViewChange' | 'ViewRemoval'>;

export function createViewHandlers({ store, clock }: AdminOptions): ViewHandlers {
  const views = createSavedViews({ store, now: clock.now });
  return {
    ViewList: () => views.list(OPERATORS),
    View: ({ parameters: { id = '' } }) => views.get(OPERATORS, id),
    ViewChange: ({ parameters: { id = '' }, body }) => views.put(OPERATORS, id, body),
    ViewRemoval: ({ parameters: { id = '' } }) => views.remove(OPERATORS, id),
  };
}
