/** Theme: the system's, unless one is chosen. */

import { useSyncExternalStore } from 'react';

export type Theme = 'system' | 'light' | 'dark';

const NAME = 'polygate-theme';
const dark = matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();

function chosenTheme(): Theme {
  const stored = localStorage.getItem(NAME);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

export function chooseTheme(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(NAME);
  else localStorage.setItem(NAME, theme);
  applyTheme();
}

export function applyTheme(): void {
  const theme = chosenTheme();
  const isDark = theme === 'dark' || (theme === 'system' && dark.matches);
  document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
  for (const listener of listeners) listener();
}

export function toggleTheme(): void {
  chooseTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
}

export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, chosenTheme);
}

dark.addEventListener('change', applyTheme);
