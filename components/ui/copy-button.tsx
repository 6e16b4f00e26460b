"use client";
import { Check, Copy } from "lucide-react";
import { useTranslations } from "next-intl";
import { useEffect, useState } from "react";
import type { ReactElement } from "react";
import { Button } from "./button";

interface CopyButtonProps {
  readonly text: string;
  /** What is copied, for those who do not see what stands beside the button; left out, the button says "Copy" itself. */
  readonly what?: string;
  /** Where there is no clipboard (a page without https): the place can be selected instead. */
  readonly onRefused?: () => void;
}

const SAID_MS = 2_000;

/** Copies a text and says so, also to a screen reader. */
export function CopyButton({ text, what, onRefused }: CopyButtonProps): ReactElement {
  const c = useTranslations("common");
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setCopied(false), SAID_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
    } catch {
      onRefused?.();
    }
  }
  const icon = isCopied ? <Check aria-hidden className="text-good" /> : <Copy aria-hidden />;
  return (
    <>
      {what === undefined ? (
        <Button onClick={() => void copy()}>
          {icon} {c(isCopied ? "copied" : "copy")}
        </Button>
      ) : (
        <Button variant="ghost" size="iconSm" aria-label={c("copyOf", { what })} onClick={() => void copy()}>
          {icon}
        </Button>
      )}
      <span role="status" className="sr-only">
        {isCopied ? c("copied") : ""}
      </span>
    </>
  );
}
