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

interface ComboboxProps {
  label: string;
  value: string;
  options: readonly string[];
  onChange(value: string): void;
}

const MAX_SHOWN = 50;

export function Combobox({ label, value, options, onChange }: ComboboxProps) {
  const [typed, setTyped] = useState('');
  const words = typed.toLowerCase();
  const found = options.filter((option) => option.toLowerCase().includes(words)).slice(0, MAX_SHOWN);
  return (
    <ComboboxProvider resetValueOnHide setValue={setTyped}>
      <SelectProvider value={value} setValue={onChange}>
        <AriaSelect className="button !font-normal" aria-label={label}>
          {value}
          <ChevronsUpDown size={13} aria-hidden className="text-dim" />
        </AriaSelect>
        <SelectPopover gutter={4} className="menu" portal>
          <div className="p-1">
            <AriaCombobox autoSelect placeholder="Search …" className="input" aria-label={`Search for ${label}`} />
          </div>
          <ComboboxList>
            {found.map((option) => (
              <SelectItem key={option} value={option} render={<ComboboxItem />}>
                {option}
              </SelectItem>
            ))}
            {found.length === 0 && <p className="px-2 py-1 text-dim">None is like that.</p>}
          </ComboboxList>
        </SelectPopover>
      </SelectProvider>
    </ComboboxProvider>
  );
}
