/** Start of the dashboard. */

import './theme.css';
import { notifyManager, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiError, REFUSED } from './api.ts';
import { openRowsOnClick } from './parts/row-click.ts';
import { router } from './router.tsx';
import { leaveEnded } from './session.ts';
import { applyTheme } from './theme.ts';

applyTheme();
openRowsOnClick();

// A button is disabled before the next click, however busy the browser is: the second of a double click sends nothing.
notifyManager.setScheduler(queueMicrotask);

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (count, error) => count < 1 && error instanceof ApiError && (error.status === 0 || error.status >= 500),
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
});

addEventListener(REFUSED, () => void leaveEnded(queries));

createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
