/** Choice from a long list by typing a part of it. */

import {
  Combobox as AriaCombobox,
  Select as AriaSelect,
  ComboboxItem,
  ComboboxList,
  ComboboxProvider,
  SelectItem,
  SelectPopover,
  SelectProvider,
} from '@ariakit/react';
import { ChevronsUpDown } from 'lucide-react';
import { useState } from 'react';

export interface Option {
  value: string;
  label: string;
}

interface ComboboxProps {
  label: string;
  value: string;
  options: readonly (string | Option)[];
  onChange(value: string): void;
  /** Words of the value, which need not be among the options. */
  shown?: string;
  /** Called with what is typed; the options are then those for it. */
  onType?(typed: string): void;
  onOpen?(): void;
}

const MAX_SHOWN = 50;

export function Combobox({ label, value, options, onChange, shown = value, onType, onOpen }: ComboboxProps) {
  const [typed, setTyped] = useState('');
  const words = onType ? '' : typed.toLowerCase();
  const found = options
    .map((option) => (typeof option === 'string' ? { value: option, label: option } : option))
    .filter((option) => option.label.toLowerCase().includes(words))
    .slice(0, MAX_SHOWN);

  function type(next: string) {
    setTyped(next);
    onType?.(next);
  }

  return (
    <ComboboxProvider resetValueOnHide setValue={type}>
      <SelectProvider value={value} setValue={onChange} setOpen={(isOpen) => isOpen && onOpen?.()}>
        <AriaSelect className="button !font-normal" aria-label={label}>
          <span className="max-w-56 truncate">{shown}</span>
          <ChevronsUpDown size={13} aria-hidden className="text-dim" />
        </AriaSelect>
        <SelectPopover gutter={4} className="menu" portal>
          <div className="p-1">
            <AriaCombobox autoSelect placeholder="Search …" className="input" aria-label={`Search for ${label}`} />
          </div>
          <ComboboxList>
            {found.map((option) => (
              <SelectItem key={option.value} value={option.value} render={<ComboboxItem />}>
                {option.label}
              </SelectItem>
            ))}
            {found.length === 0 && <p className="px-2 py-1 text-dim">None is like that.</p>}
          </ComboboxList>
        </SelectPopover>
      </SelectProvider>
    </ComboboxProvider>
  );
}
