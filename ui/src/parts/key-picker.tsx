/** Choice of a key by typing a part of its name, owner or tags; the gateway looks for it. */

import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { foundKeys, useKeyName } from '../keys.ts';
import { Combobox } from './combobox.tsx';
import { useSettled } from './use-settled.ts';

interface KeyPickerProps {
  label: string;
  /** Hash of the key that is chosen. */
  value: string | undefined;
  /** Words for no key, where that can be chosen; also keys that are no longer active can be, then. */
  none?: string;
  /** Words for a key with this name. */
  wordsOf?(name: string): string;
  /** Empty for no key. */
  onChange(hash: string): void;
}

const MAX_FOUND = 20;

export function KeyPicker({ label, value, none, wordsOf = (name) => name, onChange }: KeyPickerProps) {
  const [typed, setTyped] = useState('');
  const search = useSettled(typed.trim());
  const [wasOpened, setOpened] = useState(false);
  const found = useQuery({ ...foundKeys({ search, isWhole: none !== undefined }, MAX_FOUND), enabled: wasOpened });
  const name = useKeyName(value);
  const options = (found.data ?? []).map((key) => ({ value: key.hash, label: wordsOf(key.name) }));
  return (
    <Combobox
      label={label}
      value={value ?? ''}
      shown={value === undefined ? (none ?? 'Choose a key') : wordsOf(name)}
      options={none !== undefined && search === '' ? [{ value: '', label: none }, ...options] : options}
      onType={setTyped}
      onOpen={() => setOpened(true)}
      onChange={onChange}
    />
  );
}
