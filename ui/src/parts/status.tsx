/** State in a word and a mark: never by colour alone. */

import { CircleAlert, CircleCheck, CircleDashed, CircleX, type LucideIcon } from 'lucide-react';

export type Tone = 'good' | 'warn' | 'bad' | 'quiet';

const LOOKS: Record<Tone, { icon: LucideIcon; className: string }> = {
  good: { icon: CircleCheck, className: 'text-good bg-good-soft' },
  warn: { icon: CircleAlert, className: 'text-warn bg-warn-soft' },
  bad: { icon: CircleX, className: 'text-bad bg-bad-soft' },
  quiet: { icon: CircleDashed, className: 'text-dim bg-hover' },
};

export function Status({ tone, children }: { tone: Tone; children: string }) {
  const { icon: Icon, className } = LOOKS[tone];
  return (
    <span
      className={`inline-flex items-center gap-1 rounded-md align-middle px-1.5 py-0.5 text-xs font-medium ${className}`}
    >
      <Icon size={12} aria-hidden />
      {children}
    </span>
  );
}
