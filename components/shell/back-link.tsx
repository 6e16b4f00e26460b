import { ArrowLeft } from "lucide-react";
import Link from "next/link";
import type { ReactElement } from "react";

/** From one thing back to the list of all. On a phone as tall as a thumb. */
export function BackLink({ href, text }: { readonly href: string; readonly text: string }): ReactElement {
  return (
    <Link
      href={href}
      className="mb-2 inline-flex min-h-6 items-center gap-1.5 rounded-sm text-[0.8125rem] text-brand underline-offset-4 hover:underline max-md:min-h-11"
    >
      <ArrowLeft aria-hidden className="size-4" /> {text}
    </Link>
  );
}
