/** Frame of all pages: rail, title bar and what must be on every page. */

import { Link, lazyRouteComponent, Outlet, useRouterState } from '@tanstack/react-router';
import { LogOut, Moon, PanelLeft, Sun } from 'lucide-react';
import { lazy, type ReactNode, Suspense, useEffect, useRef, useState } from 'react';
import { IconButton } from '../parts/button.tsx';
import { ErrorNotice, Loaded, LoadingBlock } from '../parts/states.tsx';
import { useSession } from '../session.ts';
import { toggleTheme, useTheme } from '../theme.ts';
import { entryForOthers, useEntries } from './entries.ts';
import { Keyboard } from './keyboard.tsx';
import { Mark } from './mark.tsx';

const Environment = lazy(() => import('./environment.tsx').then((module) => ({ default: module.Environment })));
const LoginPage = lazyRouteComponent(() => import('../pages/login/page.tsx'), 'LoginPage');
export const NotFound = lazyRouteComponent(() => import('./not-found.tsx'), 'NotFound');

export function Frame() {
  const { asked, session } = useSession();
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const isOpen = path.endsWith('/models') && session?.serves_keys !== false;
  if (isOpen && !asked.isPending) return <Shell key={session?.id} />;
  const loading = <LoadingBlock className="h-96" />;
  if (!session)
    return (
      <Opening>
        <Loaded asked={asked} loading={loading}>
          {() => null}
        </Loaded>
      </Opening>
    );
  if (session.role !== 'nobody') return <Shell key={session.id} />;
  return (
    <Suspense fallback={<Opening>{loading}</Opening>}>
      <LoginPage />
    </Suspense>
  );
}

/** Page until it is known which one comes. */
function Opening({ children }: { children: ReactNode }) {
  return (
    <main className="p-6">
      <h1 className="sr-only">Polygate</h1>
      {children}
    </main>
  );
}

function Shell() {
  const { session, signOut, isOperator } = useSession();
  const entries = useEntries();
  const isIn = session !== undefined && session.role !== 'nobody';
  const [isNarrow, setNarrow] = useState(() => localStorage.getItem('polygate-rail') === 'narrow');
  useEffect(() => localStorage.setItem('polygate-rail', isNarrow ? 'narrow' : ''), [isNarrow]);
  const [problem, setProblem] = useState<unknown>();
  const leave = () => void signOut().then(setProblem, setProblem);
  useTheme();
  const rail = useRef<HTMLElement>(null);
  const path = useRouterState({ select: ({ matches }) => matches.at(-1)?.pathname ?? '' });
  // On a narrow screen the rail is a line that scrolls.
  // biome-ignore lint/correctness/useExhaustiveDependencies: The page has changed with the path.
  useEffect(() => {
    rail.current?.querySelector('[aria-current=page]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [path]);
  const other = entryForOthers(path, entries);
  const isDark = document.documentElement.dataset.theme === 'dark';
  return (
    <div className="flex min-h-dvh flex-col md:flex-row">
      <a href="#content" className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:m-2">
        To the content
      </a>
      <header
        ref={rail}
        className={`flex shrink-0 flex-row items-center gap-1 border-b bg-rail px-2 py-2 md:sticky md:top-0 md:h-dvh md:flex-col md:items-stretch md:overflow-y-auto md:border-r md:border-b-0 ${isNarrow ? 'md:w-14' : 'md:w-52'}`}
      >
        <div
          className={`flex shrink-0 items-center gap-2 px-2 py-1 md:mb-3 ${isNarrow ? 'md:justify-center md:px-0' : ''}`}
        >
          <Mark />
          <span className={`font-semibold tracking-tight max-md:sr-only ${isNarrow ? 'md:sr-only' : ''}`}>
            Polygate
          </span>
        </div>
        <Keyboard isNarrow={isNarrow} onLeave={leave} />
        <nav aria-label="Pages" className="flex min-w-0 flex-1 gap-1 max-md:overflow-x-auto max-md:p-0.5 md:contents">
          {entries.map(({ to, label, icon: Icon }) => (
            <Link
              key={to}
              to={to}
              title={label}
              className={`flex min-h-8 shrink-0 items-center gap-2.5 whitespace-nowrap rounded-md px-2.5 text-dim hover:bg-hover hover:text-ink aria-[current=page]:bg-surface dark:aria-[current=page]:bg-line aria-[current=page]:font-medium aria-[current=page]:text-ink aria-[current=page]:shadow-xs ${isNarrow ? 'md:justify-center md:px-0' : ''}`}
            >
              <Icon size={16} aria-hidden />
              <span className={isNarrow ? 'md:sr-only' : ''}>{label}</span>
            </Link>
          ))}
        </nav>
        <div className="ml-auto flex shrink-0 items-center gap-1 md:mt-auto md:ml-0 md:flex-col md:items-stretch">
          {isOperator && (
            <Suspense>
              <Environment isNarrow={isNarrow} />
            </Suspense>
          )}
          {isIn && (
            <div className={`px-2.5 py-1 text-dim max-md:hidden ${isNarrow ? 'md:sr-only' : ''}`}>
              <div className="truncate text-ink">{session.key?.name ?? session.role}</div>
              <div className="truncate font-mono text-xs">{session.key?.label}</div>
            </div>
          )}
          <div className={`flex gap-1 ${isNarrow ? 'md:flex-col md:items-center' : ''}`}>
            <IconButton
              label={isDark ? 'Light theme' : 'Dark theme'}
              icon={isDark ? Sun : Moon}
              onClick={toggleTheme}
            />
            <span className="max-md:hidden">
              <IconButton
                label={isNarrow ? 'Show the words of the rail' : 'Hide the words of the rail'}
                icon={PanelLeft}
                onClick={() => setNarrow(!isNarrow)}
              />
            </span>
            {isIn && <IconButton label="Sign out" icon={LogOut} onClick={leave} />}
          </div>
        </div>
      </header>
      <main id="content" className="min-w-0 flex-1 px-4 py-5 md:px-8 md:py-6">
        {problem !== undefined && (
          <div className="mb-5">
            <ErrorNotice error={problem} onRetry={leave} />
          </div>
        )}
        <Suspense>{other ? <NotFound entry={other} /> : <Outlet />}</Suspense>
      </main>
    </div>
  );
}
