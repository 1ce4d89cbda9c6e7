/** Filters of lists that come in pages: a choice, a key, and how many rows there are. */

import { useSession } from '../session.ts';
import { KeyPicker } from './key-picker.tsx';
import { Select } from './select.tsx';
import { type CountedPage, ShownCount } from './table.tsx';

interface ChoiceFilterProps<Value extends string> {
  label: string;
  /** Words where nothing is chosen. */
  none: string;
  value: Value | undefined;
  values: readonly Value[];
  wordsOf?(value: Value): string;
  onChange(value: Value | undefined): void;
}

export function ChoiceFilter<Value extends string>(props: ChoiceFilterProps<Value>) {
  const { label, none, value, values, wordsOf = String, onChange } = props;
  return (
    <Select
      label={label}
      value={value ?? ''}
      options={[{ value: '', label: none }, ...values.map((one) => ({ value: one, label: wordsOf(one) }))]}
      onChange={(next) => onChange(values.find((one) => one === next))}
    />
  );
}

interface KeyFilterProps {
  value: string | undefined;
  onChange(key: string | undefined): void;
}

/** For operators; the lists of others have one key. */
export function KeyFilter({ value, onChange }: KeyFilterProps) {
  const { isOperator } = useSession();
  if (!isOperator) return null;
  return <KeyPicker label="Key" value={value} none="All keys" onChange={(key) => onChange(key || undefined)} />;
}

interface PagesCountProps {
  shown: number;
  /** The first one has the count. */
  pages: readonly CountedPage[] | undefined;
}

export function PagesCount({ shown, pages }: PagesCountProps) {
  const first = pages?.[0];
  const all = first && Math.max(shown, first.total ?? 0);
  return <ShownCount shown={shown} all={all} isPartial={first?.total_complete === false} />;
}
