"use client";
import { Search } from "lucide-react";
import { useRef, useState } from "react";
import type { ReactElement } from "react";
import { cn } from "./cn";
import { Input } from "./field";

interface SearchFieldProps {
  readonly label: string;
  /** What it starts with. Given another `key` it starts anew. */
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly className?: string;
}

const TYPING_MS = 250;

/** Asks after a word, not after every letter; the address changing by itself never overwrites what is being typed. */
export function SearchField({ label, value, onChange, className }: SearchFieldProps): ReactElement {
  const [text, setText] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  function type(next: string): void {
    setText(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onChange(next.trim()), TYPING_MS);
  }
  return (
    <div className={cn("relative min-w-56 flex-1", className)}>
      <Search aria-hidden className="pointer-events-none absolute top-1/2 left-3 size-4 -translate-y-1/2 text-soft" />
      <Input
        type="search"
        aria-label={label}
        placeholder={label}
        className="pl-9"
        value={text}
        onChange={(event) => type(event.target.value)}
      />
    </div>
  );
}
