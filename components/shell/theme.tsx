"use client";
import { ThemeProvider } from "next-themes";
import type { ReactElement, ReactNode } from "react";
import { Toaster } from "sonner";

/** Theme by class, chosen before the first paint; `nonce` lets its inline script pass the content security policy. */
export function Theme({ nonce, children }: { readonly nonce: string; readonly children: ReactNode }): ReactElement {
  return (
    <ThemeProvider attribute="class" defaultTheme="system" enableSystem disableTransitionOnChange nonce={nonce}>
      {children}
      <Toaster
        position="bottom-right"
        toastOptions={{
          unstyled: true,
          classNames: {
            toast:
              "flex w-full items-center gap-3 rounded-lg border border-line bg-surface px-4 py-3 text-sm text-ink shadow-float",
            title: "font-medium",
            description: "text-soft",
            content: "min-w-0 flex-1",
            actionButton:
              "h-8 shrink-0 rounded-md border border-line bg-sunken px-3 text-[0.8125rem] font-medium hover:border-line-strong max-md:h-10",
            error: "border-danger/50",
          },
        }}
        mobileOffset={{ bottom: "5rem" }}
      />
    </ThemeProvider>
  );
}
