/** Choice of one value from a list that opens. */

import { Select as AriaSelect, SelectItem, SelectPopover, SelectProvider } from '@ariakit/react';
import { Check, ChevronsUpDown } from 'lucide-react';

interface SelectProps<Value extends string> {
  label: string;
  value: Value;
  options: readonly { value: Value; label: string }[];
  onChange(value: Value): void;
}

export function Select<Value extends string>({ label, value, options, onChange }: SelectProps<Value>) {
  return (
    <SelectProvider value={value} setValue={(next) => onChange(next as Value)}>
      <AriaSelect className="button !font-normal" aria-label={label}>
        {options.find((option) => option.value === value)?.label ?? label}
        <ChevronsUpDown size={13} aria-hidden className="text-dim" />
      </AriaSelect>
      <SelectPopover gutter={4} className="menu" portal>
        {options.map((option) => (
          <SelectItem key={option.value} value={option.value}>
            <span className="flex-1">{option.label}</span>
            {option.value === value && <Check size={14} aria-hidden className="text-accent" />}
          </SelectItem>
        ))}
      </SelectPopover>
    </SelectProvider>
  );
}
