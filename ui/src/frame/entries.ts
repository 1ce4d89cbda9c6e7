/** Pages of the rail, in its order, with the letter that follows `g`. */

import {
  Activity,
  Boxes,
  ChartColumn,
  Film,
  HeartPulse,
  KeyRound,
  type LucideIcon,
  MessagesSquare,
  Plug,
  Route,
  Settings,
  Settings2,
  Tags,
  Webhook,
} from 'lucide-react';
import { useSession } from '../session.ts';

export interface Entry {
  to:
    | '/config'
    | '/explain'
    | '/health'
    | '/key'
    | '/keys'
    | '/models'
    | '/playground'
    | '/requests'
    | '/settings'
    | '/setup'
    | '/tags'
    | '/use'
    | '/videos'
    | '/webhooks';
  label: string;
  icon: LucideIcon;
  letter: string;
  for: 'everybody' | 'insiders' | 'key' | 'operator';
}

const ENTRIES: readonly Entry[] = [
  { to: '/requests', label: 'Requests', icon: Activity, letter: 'r', for: 'insiders' },
  { to: '/use', label: 'Use and cost', icon: ChartColumn, letter: 'u', for: 'operator' },
  { to: '/keys', label: 'Keys', icon: KeyRound, letter: 'k', for: 'operator' },
  { to: '/tags', label: 'Tags', icon: Tags, letter: 't', for: 'operator' },
  { to: '/key', label: 'My key', icon: KeyRound, letter: 'k', for: 'key' },
  { to: '/playground', label: 'Playground', icon: MessagesSquare, letter: 'p', for: 'insiders' },
  { to: '/videos', label: 'Videos', icon: Film, letter: 'v', for: 'insiders' },
  { to: '/webhooks', label: 'Webhooks', icon: Webhook, letter: 'w', for: 'insiders' },
  { to: '/explain', label: 'Explain', icon: Route, letter: 'e', for: 'operator' },
  { to: '/health', label: 'Health', icon: HeartPulse, letter: 'h', for: 'operator' },
  { to: '/config', label: 'Configuration', icon: Settings2, letter: 'c', for: 'operator' },
  { to: '/models', label: 'Models', icon: Boxes, letter: 'm', for: 'everybody' },
  { to: '/setup', label: 'Setup', icon: Plug, letter: 'n', for: 'insiders' },
  { to: '/settings', label: 'Settings', icon: Settings, letter: 's', for: 'insiders' },
];

/** The page of an address, where it is not among those of the session. */
export function entryForOthers(path: string, entries: readonly Entry[]): Entry | undefined {
  return ENTRIES.find((entry) => path.endsWith(entry.to) && !entries.includes(entry));
}

/** Those that the session may open. */
export function useEntries(): Entry[] {
  const { session, isOperator } = useSession();
  const isIn = session !== undefined && session.role !== 'nobody';
  return ENTRIES.filter(
    (entry) =>
      entry.for === 'everybody' || (isIn && (entry.for === 'insiders' || (entry.for === 'operator') === isOperator)),
  );
}
